// Invalid files, and files of other formats. Nothing leaks, and a right file is still read.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gridfold/core/error.hpp>
#include <gridfold/core/gather.hpp>
#include <gridfold/npy/npy.hpp>

#include "error/refusal.hpp"
#include "npy_header.hpp"

namespace {

using gf::DType;
using gf::test::expect_refused;

/// A folder that is removed after the test.
class NpyErrors : public testing::Test {
protected:
    NpyErrors() { std::filesystem::create_directories(folder); }
    ~NpyErrors() override { std::filesystem::remove_all(folder); }

    std::string write(const std::string& bytes) {
        const std::string path = folder / "array.npy";
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    /// A version 1.0 file with this dictionary and these elements.
    static std::string file(const std::string& dictionary, const std::string& elements, char major = 1,
                            char minor = 0) {
        std::string bytes = "\x93NUMPY";
        bytes += {major, minor, static_cast<char>(dictionary.size()), static_cast<char>(dictionary.size() >> 8)};
        if (major > 1) bytes += std::string(2, '\0');
        return bytes + dictionary + elements;
    }
    void refuse(const std::string& bytes, std::initializer_list<std::string_view> words) {
        const std::string path = write(bytes);
        expect_refused<gf::IoError>([&] { gf::npy::open(path); }, words);
        expect_refused<gf::IoError>([&] { gf::npy::open(path); }, {path});
        write(file(three, std::string(12, '\x01')));
        EXPECT_EQ(static_cast<const std::int32_t*>(gf::npy::open(path).view().address)[2], 0x01010101);
    }

    const std::string three = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("gridfold_npy_" + std::to_string(getpid()));
};

TEST_F(NpyErrors, a_file_that_is_not_there) {
    expect_refused<gf::IoError>([&] { gf::npy::open(folder / "none.npy"); },
                                {"none.npy", "can't be read", "No such file", "name a file"});
}

TEST_F(NpyErrors, a_file_that_may_not_be_read) {
    if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
    const std::string path = write(file(three, std::string(12, '\0')));
    std::filesystem::permissions(path, std::filesystem::perms::none);
    expect_refused<gf::IoError>([&] { gf::npy::open(path); }, {"can't be read", "Permission denied"});
}

TEST_F(NpyErrors, a_folder_is_no_file) {
    expect_refused<gf::IoError>([&] { gf::npy::open(folder); }, {"is a folder", "regular files and from pipes"});
}

TEST_F(NpyErrors, a_device_is_no_file) {
    expect_refused<gf::IoError>([&] { gf::npy::open("/dev/null"); }, {"is a device or a socket", "name one"});
}

TEST_F(NpyErrors, bytes_that_are_no_npy_file) {
    refuse(std::string("\1\2\3\0", 4), {"is not a .npy file", "numpy.save", "raw:<type>:<path>"});
    refuse("", {"is empty", "not a .npy file"});
}

/// A file of another format, with what the format has at the end.
struct OtherFormat {
    std::string bytes;
    const char *what, *fix;
};
const std::vector<OtherFormat>& other_formats() {
    static const std::vector<OtherFormat> formats{
        {"PAR1" + std::string(20, '\7') + "PAR1", "a Parquet file", "pandas.read_parquet"},
        {"PK\x03\x04" + std::string(20, '\7') + "PK\x05\x06" + std::string(18, '\0'), "a zip archive", "unpack it"},
        {"\x89HDF\r\n\x1a\n" + std::string(20, '\7'), "an HDF5 file", "h5py.File"},
        {"ARROW1" + std::string(20, '\7') + "ARROW1", "an Arrow file", "pandas.read_feather"},
        {"day,t\n1,20.5\n2,21.25\n", "text, such as CSV",
         "numpy.loadtxt(path, delimiter=\",\")), with skiprows=1 where the first line names"},
        {"\n [1, 2,\n 3, 4, 5, 6]", "JSON", "numpy.array(json.load(open(path))))"},
        {"[[ -1, 2], [3, 4]]\n\n", "JSON", "numpy.array(json.load(open(path))))"},
        {"[\n]              \n", "JSON", "numpy.array(json.load(open(path))))"},
        {"[\"a\", \"b\", \"c\"]\n", "JSON", "numpy.array(json.load(open(path))))"},
        {"[{\"x\": 1}, {\"x\": 2}]\n", "JSON", "json.load"},
        {"[table]\ntimes = 1\n", "text, such as CSV", "numpy.loadtxt"},
        {"[[points]]\nx = 10 \n", "text, such as CSV", "numpy.loadtxt"},
        {"[                \n", "text, such as CSV", "numpy.loadtxt"},
        {"{\"x\": [1, 2, 3, 4]}\n", "JSON", "numpy.array(json.load(open(path))[\"name\"]))"}};
    return formats;
}

TEST_F(NpyErrors, files_of_other_formats_get_advice_that_fits) {
    for (const OtherFormat& format : other_formats()) {
        refuse(format.bytes, {format.what, "not a .npy file", format.fix});
        const std::string path = write(format.bytes);
        expect_refused<gf::IoError>([&] { gf::npy::open_raw(path, DType::i16); },
                                    {path, format.what, "not raw elements of i16", format.fix});
    }
    refuse("\x1f\x8b\x08" + std::string(20, '\7'), {"compressed by gzip", "gunzip"});
    refuse("t in \xc2\xb0"
           "C\n20.5\n",
           {"text, such as CSV"});
    const std::string path = write(file(three, std::string(12, '\x01')));
    for (const DType type : {DType::f32, DType::u8})
        expect_refused<gf::IoError>([&] { gf::npy::open_raw(path, type); },
                                    {"is a .npy file, not raw elements", "open it as that"});
}

TEST_F(NpyErrors, raw_elements_that_look_like_something_else_by_chance_are_read) {
    for (const char* bytes : {"PAR1, and so on?", "ab\ncdef\n", "0123456789abcdef0123456789abcdef"})
        EXPECT_NO_THROW(gf::npy::open_raw(write(bytes), DType::i16)) << bytes;
    EXPECT_EQ(gf::npy::open_raw(write("text,\n of one byte an element\n"), DType::u8).view().extents[0], 30);
    EXPECT_EQ(gf::npy::open_raw(write(""), DType::f32).view().extents[0], 0);
}

TEST_F(NpyErrors, a_pipe_is_read_to_its_end) {
    const std::string path = folder / "pipe";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    constexpr std::int64_t count = 1'000'003; // more than the memory that reading starts with, and no multiple of it
    std::string elements(static_cast<std::size_t>(count) * 4, '\0');
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * 7 % 251);
    for (const bool raw : {false, true}) {
        std::thread writer([&] {
            const std::string header = gf::npy::header_text(DType::i32, {count});
            std::ofstream(path, std::ios::binary) << (raw ? "" : header) << elements;
        });
        const gf::npy::Array array = raw ? gf::npy::open_raw(path, DType::i32) : gf::npy::open(path);
        writer.join();
        ASSERT_EQ(array.view().extents, gf::Extents({count}));
        EXPECT_EQ(std::memcmp(array.view().address, elements.data(), elements.size()), 0);
    }
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << "\1cut"; });
    expect_refused<gf::IoError>([&] { gf::npy::open(path); }, {"pipe", "is not a .npy file"});
    writer.join();
}

TEST_F(NpyErrors, a_descriptor_gives_what_it_has_left) {
    const std::string path = write("ab" + file(three, std::string(12, '\x01')));
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char skipped[2];
    ASSERT_EQ(::read(descriptor, skipped, 2), 2);
    const gf::npy::Array array = gf::npy::open(gf::npy::FileBytes(descriptor, "the rest"));
    EXPECT_EQ(static_cast<const std::int32_t*>(array.view().address)[2], 0x01010101);
    expect_refused<gf::IoError>([&] { gf::npy::open(gf::npy::FileBytes(descriptor, "the rest")); },
                                {"\"the rest\"", "is empty"});
    ::close(descriptor);
    expect_refused<gf::IoError>([] { gf::npy::FileBytes(-1, "nothing"); }, {"\"nothing\"", "can't be read"});
}

TEST_F(NpyErrors, what_a_descriptor_does_not_take_is_said) {
    const float element = 1;
    const gf::View view = gf::host_view(&element, {1});
    expect_refused<gf::IoError>(
        [&] {
            gf::npy::write(-1, "stdout", DType::f32, {1}, {&view, 1});
        },
        {"stdout can't be written", "Bad file descriptor"});
    expect_refused<gf::IoError>(
        [&] {
            gf::npy::write(1, "stdout", DType::bf16, {1}, {&view, 1});
        },
        {"bf16", "cast to f32"});
}

TEST_F(NpyErrors, every_truncation_is_refused) {
    const std::string whole = file(three, std::string(12, '\x07'));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const std::string path = write(whole.substr(0, bytes));
        EXPECT_THROW(gf::npy::open(path), gf::IoError) << bytes;
    }
}

TEST_F(NpyErrors, a_file_cut_in_its_elements) {
    refuse(file(three, std::string(11, '\0')), {"i32[3], 12 bytes", "11 bytes of elements are there", "copy it again"});
}

TEST_F(NpyErrors, a_file_with_more_than_it_says) {
    refuse(file(three, std::string(13, '\0')), {"i32[3], 12 bytes", "13 bytes of elements are there"});
}

TEST_F(NpyErrors, extents_whose_bytes_overflow) {
    refuse(file("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387905, 4), }", "abcd"),
           {"beyond 2^63", "4 bytes of elements are there"});
}

TEST_F(NpyErrors, an_extent_beyond_64_bits) {
    refuse(file("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ""),
           {"beyond 64 bits"});
}

TEST_F(NpyErrors, a_negative_extent) {
    refuse(file("{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }", ""), {"negative extent", "-3"});
}

TEST_F(NpyErrors, more_dims_than_an_array_has) {
    refuse(file("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }", "a"),
           {"more than 8 dims", "reshape"});
}

/// Element number i has the value i in the order of the file.
template <class T> void expect_in_c_order(const std::string& path, const gf::Extents& extents) {
    const gf::npy::Array array = gf::npy::open(path);
    ASSERT_EQ(array.view().extents, extents);
    const auto count = static_cast<std::int64_t>(gf::element_count(extents));
    std::vector<T> elements(gf::element_count(extents));
    gf::gather(elements.data(), array.view().address, sizeof(T), gf::walk(array.view()), 0, elements.size());
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t in_file = 0, stride = count, rest = i;
        for (int d = extents.rank() - 1; d >= 0; --d) {
            stride /= extents[d];
            in_file += rest % extents[d] * stride;
            rest /= extents[d];
        }
        ASSERT_EQ(elements[static_cast<std::size_t>(i)], static_cast<T>(in_file)) << i;
    }
}

/// The strides of Fortran's order.
gf::Strides fortran(const gf::Extents& extents) {
    std::vector<std::int64_t> strides;
    std::int64_t next = 1;
    for (const std::int64_t extent : extents) {
        strides.push_back(next);
        next *= extent;
    }
    return gf::Strides(strides);
}

TEST_F(NpyErrors, fortran_order_is_read_with_the_extents_that_it_states) {
    const auto test = [&]<class T>(T, const char* descr) {
        for (const gf::Extents& extents : {gf::Extents{2, 3}, gf::Extents{70, 33}, gf::Extents{1, 5, 3},
                                           gf::Extents{3, 4, 2, 5}, gf::Extents{35, 2, 40}, gf::Extents{2, 0, 3}}) {
            std::vector<T> elements(gf::element_count(extents));
            for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i);
            const std::string shape = gf::to_text(extents);
            const std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': True, 'shape': (" +
                                       shape.substr(1, shape.size() - 2) + "), }";
            const std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
            const std::string path = write(file(header, bytes));
            expect_in_c_order<T>(path, extents);
            EXPECT_TRUE(elements.empty() || gf::npy::open(path).view().strides == fortran(extents));
            gf::npy::write(path, gf::npy::open(path).view()); // in C order
            const gf::npy::Array again = gf::npy::open(path);
            EXPECT_TRUE(again.view().is_contiguous());
            const auto* const first = static_cast<const T*>(again.view().address);
            std::vector<T> in_order(elements.size());
            const gf::View columns(elements.data(), again.view().type, extents, gf::Memory::host, false,
                                   fortran(extents));
            gf::gather(in_order.data(), elements.data(), sizeof(T), gf::walk(columns), 0, in_order.size());
            EXPECT_EQ(std::vector<T>(first, first + elements.size()), in_order);
        }
    };
    test(std::uint8_t{}, "|u1");
    test(std::int16_t{}, "<i2");
    test(float{}, "<f4");
    test(double{}, "<f8");
}

TEST_F(NpyErrors, big_endian_elements) {
    refuse(file("{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }", std::string(12, '\0')),
           {"big-endian", "'>i4'", "astype('<i4')"});
}

TEST_F(NpyErrors, python_objects) {
    refuse(file("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "pickle"),
           {"Python objects", "numbers and bool"});
}

TEST_F(NpyErrors, elements_that_gridfold_has_no_type_for) {
    for (const char* descr : {"<c8", "<U3", "|S5", "<M8[ns]", "<f16", "|V2"})
        refuse(file("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,), }",
                    "0123456789abcdef"),
               {std::string("'") + descr + "'", "gridfold reads bool", "astype"});
}

TEST_F(NpyErrors, records) {
    refuse(file("{'descr': [('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,), }", "01234567"),
           {"records", "each field as a file of its own"});
}

TEST_F(NpyErrors, headers_that_are_no_such_dictionary) {
    for (const char* dictionary :
         {"", "{", "{}", "garbage", "{'descr': '<i4'}", "{'descr': '<i4', 'fortran_order': False}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (3)}",
          "{'descr': '<i4', 'fortran_order': 0, 'shape': (3,)}",
          "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (3,)}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)} trailing", "{'descr': '<i4",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (3,}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (,)}"})
        refuse(file(dictionary, std::string(12, '\0')), {"header", "numpy.save"});
}

TEST_F(NpyErrors, a_version_from_the_future) {
    refuse(file(three, std::string(12, '\0'), 4), {"version 4.0", "1.0, 2.0 and 3.0"});
    refuse(file(three, std::string(12, '\0'), 1, 1), {"version 1.1"});
}

TEST_F(NpyErrors, a_bool_that_is_neither_0_nor_1) {
    refuse(file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\2", 3)),
           {"a bool of 2 at element 2", "array != 0"});
}

TEST_F(NpyErrors, a_raw_file_of_no_whole_number_of_elements) {
    const std::string path = write("12345");
    expect_refused<gf::IoError>([&] { gf::npy::open_raw(path, DType::i32); },
                                {"has 5 bytes", "not a multiple of the 4 of one i32", "name its true type"});
    expect_refused<gf::IoError>([&] { gf::npy::open_raw(path, DType::u8, {2, 2}); }, {"u8[2, 2], 4 bytes", "5 bytes"});
    EXPECT_EQ(gf::npy::open_raw(path, DType::u8).view().extents, gf::Extents({5}));
}

TEST_F(NpyErrors, a_type_that_numpy_does_not_have_is_not_written) {
    std::uint16_t element = 0;
    const gf::View view(&element, DType::bf16, {1}, gf::Memory::host, false);
    expect_refused<gf::IoError>([&] { gf::npy::write(folder / "out.npy", view); }, {"bf16", "cast to f32"});
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(NpyErrors, a_place_that_can_not_be_written_to) {
    const float element = 1;
    const gf::View view = gf::host_view(&element, {1});
    expect_refused<gf::IoError>([&] { gf::npy::write(folder / "none" / "out.npy", view); },
                                {"can't be written", "No such file", "name a file in a folder"});
    expect_refused<gf::IoError>([&] { gf::npy::write(folder, view); }, {"not a regular file", "name another"});
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(NpyErrors, what_is_written_is_read_back) {
    const std::string path = folder / "out.npy";
    for (const gf::Extents& extents :
         {gf::Extents{6}, gf::Extents{2, 3}, gf::Extents{3, 1, 2}, gf::Extents{0}, gf::Extents{3, 0}}) {
        const std::int16_t elements[6] = {1, -2, 3, -4, 5, -6};
        gf::npy::write(path, gf::host_view(elements, extents));
        const gf::npy::Array array = gf::npy::open(path);
        EXPECT_EQ(array.view().type, DType::i16);
        EXPECT_EQ(array.view().extents, extents);
        if (extents[0] * extents[extents.rank() - 1] != 0) {
            EXPECT_EQ(static_cast<const std::int16_t*>(array.view().address)[5], -6);
        }
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "a temporary file was left";
}

TEST_F(NpyErrors, a_file_that_is_not_committed_changes_nothing) {
    const std::string path = folder / "out.npy";
    const float one = 1, two = 2;
    gf::npy::write(path, gf::host_view(&one, {1}));
    { const gf::npy::PendingFile pending(path, gf::host_view(&two, {1})); }
    EXPECT_EQ(*static_cast<const float*>(gf::npy::open(path).view().address), 1);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(NpyErrors, right_files_in_other_words_are_read) {
    const std::string elements(12, '\x01');
    for (const std::string& bytes : {file(three, elements), file(three, elements, 2), file(three, elements, 3),
                                     file("{'shape':(3,),\"fortran_order\":True,'descr':\"<i4\"}\n", elements),
                                     file("{'descr': '<i4', 'fortran_order': True, 'shape': (1, 3, 1)}", elements)})
        EXPECT_EQ(static_cast<const std::int32_t*>(gf::npy::open(write(bytes)).view().address)[2], 0x01010101);
    const std::string header = gf::npy::header_text(DType::f32, {2, 3});
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.substr(10, 61), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ");
}

} // namespace
