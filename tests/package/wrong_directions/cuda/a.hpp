// A source for package.fusion_directions.wrong.
#pragma once
