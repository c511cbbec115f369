// A thread's lanes: their states, folding elements into them, and closing them into a block's States. Depends on
// fold.cuh and loads.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The E of a monoid M<E, A>.
template <class M> struct ElementOf;
template <template <class, class> class M, class E, class A> struct ElementOf<M<E, A>> {
    using Type = E;
};

/// A fold of a sweep: a monoid, and the offset of its State's words in those of all folds.
template <int first_word, class M, bool masked = false> struct Fold : FoldPolicy<M, masked> {
    using Element = typename TakenBy<M, typename ElementOf<M>::Type>::Type;
    static constexpr int word = first_word;
    /// This fold's member of a struct that has one for every fold (Lanes, States, Packs).
    template <class All> GRIDFOLD_FN static auto& of(All& all) { return all.template of<Fold>(); }
};
/// A fold over the elements that a mask accepts.
template <int first_word, class M> using Masked = Fold<first_word, M, true>;

/// A thread's states of one fold's lanes.
template <class F, int width, bool of_block = F::of_block> struct LanesOf {
    typename F::LaneMonoid::State states[F::joins ? 1 : width];
};
template <class F, int width> struct LanesOf<F, width, true> {
    typename F::LaneMonoid::State states[F::joins ? 1 : width];
    typename F::Origin origin;
};
/// `count` States of one fold.
template <class F, int count> struct StatesOf {
    typename F::Monoid::State states[count];
};
/// A thread's states of one fold's positions (positions.cuh), and their origins if the states are sums about one.
template <class F, int width, bool of_block = F::of_block> struct PositionsOf {
    typename F::LaneMonoid::State states[width];
};
template <class F, int width> struct PositionsOf<F, width, true> {
    typename F::LaneMonoid::State states[width];
    typename F::Origin origins[width];
};
/// A thread's elements of one slab if the fold uses accumulate_pack, else nothing.
template <class F, int width, bool in_packs = F::in_packs> struct PackOf {};
template <class F, int width> struct PackOf<F, width, true> {
    typename F::Element elements[width];
};

/// The folds of a sweep.
template <class... F> struct FoldList {
    static constexpr int words = (0 + ... + F::state_words);
    static constexpr int widest = [] { // words of one State
        int most = 1;
        ((most = F::state_words > most ? F::state_words : most), ...);
        return most;
    }();
    static constexpr bool shares = (false || ... || F::of_block);
    /// A thread keeps one state of each fold for all its lanes.
    static constexpr bool joins = (true && ... && F::joins);
    static constexpr bool ends = (false || ... || F::in_steps);
    static constexpr bool shifts = (true && ... && F::shifts);

    /// The first word of a fold's State among the words of a State of each fold. (The folds of a phase have other
    /// numbers among those of the sweep.)
    template <class One>
    static constexpr int first_word = (0 + ... + (F::word < One::word ? F::state_words : 0)); // defect: first word
    /// Calls visit(f) for each fold.
    template <class Visit> GRIDFOLD_FN static void each(Visit visit) { (visit(F{}), ...); }

    template <int width> struct Lanes : LanesOf<F, width>... {
        template <class One> GRIDFOLD_FN auto& of() { return LanesOf<One, width>::states; }
        template <class One> GRIDFOLD_FN const auto& of() const { return LanesOf<One, width>::states; }
        template <class One> GRIDFOLD_FN auto& origin() { return LanesOf<One, width>::origin; }
    };
    template <int count> struct States : StatesOf<F, count>... {
        template <class One> GRIDFOLD_FN auto& of() { return StatesOf<One, count>::states; }
        template <class One> GRIDFOLD_FN const auto& of() const { return StatesOf<One, count>::states; }
    };
    template <int width> struct Positions : PositionsOf<F, width>... {
        template <class One> GRIDFOLD_FN auto& of() { return PositionsOf<One, width>::states; }
        template <class One> GRIDFOLD_FN auto& origins() { return PositionsOf<One, width>::origins; }
    };
    template <int width> struct Packs : PackOf<F, width>... {
        template <class One> GRIDFOLD_FN auto& of() { return PackOf<One, width>::elements; }
    };
};

/// A thread's lanes of every fold of a kernel; `count` States of every fold.
template <class Kernel> using Lanes = typename Kernel::Folds::template Lanes<Kernel::width>;
template <class Kernel, int count> using States = typename Kernel::Folds::template States<count>;

/// Sets the lanes to their identities.
template <class Kernel> GRIDFOLD_FN void clear(Lanes<Kernel>& lanes) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        for (auto& state : F::of(lanes))
            if constexpr (F::in_steps)
                state = F::Monoid::start();
            else
                state = F::LaneMonoid::identity();
        if constexpr (F::of_block) lanes.template origin<F>() = {};
    });
}

/// The argument of a kernel's element() that folds and stores element n of a thread's elements of a slab; the first is
/// number `first` of the domain. `turn`: the number of slabs that the block folded before. Without `whole` there may be
/// fewer elements than lanes.
template <class Kernel, bool whole> struct Taking {
    Lanes<Kernel>& lanes;
    typename Kernel::Folds::template Packs<Kernel::width>& packs;
    typename Kernel::Stored& stored;
    i64 first;
    u32 turn;
    int n;

    GRIDFOLD_FN i64 index() const { return first + n; }

    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x) const {
        auto& state = F::of(lanes)[F::joins ? 0 : n];
        if constexpr (F::in_steps)
            F::Monoid::advance(state, x, F::joins ? turn * Kernel::width + n : turn);
        else if constexpr (F::of_block)
            accumulate_in<typename F::LaneMonoid>(state, x, lanes.template origin<F>());
        else if constexpr (F::in_packs && whole)
            F::of(packs)[n] = x;
        else
            accumulate_in<typename F::Monoid>(state, x, index());
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x, bool accepted) const {
        if (accepted) accumulate_in<typename F::Monoid>(F::of(lanes)[F::joins ? 0 : n], x, index()); // defect: mask
    }
};

/// The same for an element that may not be there: then nothing is folded.
template <class Kernel> struct TakingIf : Taking<Kernel, false> {
    bool is_there;

    template <class F> GRIDFOLD_FN void fold(F f, typename F::Element x) const {
        if (is_there) Taking<Kernel, false>::fold(f, x); // defect: is there
    }
    template <class F> GRIDFOLD_FN void fold(F f, typename F::Element x, bool accepted) const {
        Taking<Kernel, false>::fold(f, x, accepted && is_there);
    }
};

/// The argument of element() that sets the lanes' shared origins from the block's first element.
template <class Kernel> struct Sharing {
    Lanes<Kernel>& lanes;
    typename Kernel::Stored& stored;
    i64 first;
    static constexpr int n = 0;

    GRIDFOLD_FN i64 index() const { return first; }

    template <class F> GRIDFOLD_FN void fold(F, [[maybe_unused]] typename F::Element x) const {
        if constexpr (F::of_block) lanes.template origin<F>() = origin_of<typename F::Monoid>(x); // defect: origin
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element, bool) const {}
};

/// The argument of element() that only asks whether the operands of its calls are plain (functions/real.cuh).
template <class Kernel> struct Asking {
    bool& are_plain; ///< becomes false if one is not
    typename Kernel::Stored& stored;
    i64 first;
    int n;

    GRIDFOLD_FN i64 index() const { return first + n; }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element) const {}
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element, bool) const {}
};
/// Taking, of a pack all of whose calls have plain operands.
template <class Kernel> struct TakingPlain : Taking<Kernel, true> {};

/// The value of a function with a form for plain operands. No operand depends on another such value.
template <class Function, class At, class... T> GRIDFOLD_FN f32 called(const At&, Function, T... operands) {
    return Function::of_any(operands...);
}
template <class Function, class Kernel, class... T>
GRIDFOLD_FN f32 called(const TakingPlain<Kernel>&, Function, T... operands) {
    return Function::of_plain(operands...);
}
template <class Function, class Kernel, class... T>
GRIDFOLD_FN f32 called(const Asking<Kernel>& at, Function, T... operands) {
    at.are_plain = at.are_plain && Function::is_plain(operands...); // defect: plain pack
    return 0;
}

/// Maps and folds `count` elements of a thread, of which the first has number `first`, and puts what is to be stored
/// into `stored`; whole: count == width.
template <bool whole, class Kernel, class Loads>
GRIDFOLD_FN void take_elements(const Kernel& kernel, Lanes<Kernel>& lanes, typename Kernel::Stored& stored,
                               Loads& loads, i64 first, i32 count, u32 turn) {
    typename Kernel::Folds::template Packs<Kernel::width> packs;
    const auto each = [&](const auto& at_number) {
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n) {
            if (!whole && n >= count) break;
            kernel.element(loads, at_number(n));
        }
    };
    const auto take = [&] { each([&](int n) { return Taking<Kernel, whole>{lanes, packs, stored, first, turn, n}; }); };
    if constexpr (whole && Kernel::calls) {
        bool are_plain = true;
        each([&](int n) { return Asking<Kernel>{are_plain, stored, first, n}; });
        if (are_plain)
            each([&](int n) { return TakingPlain<Kernel>{{lanes, packs, stored, first, turn, n}}; });
        else // a second question would cost a softmax 3 % (bench/NOTES.md)
            take();
    } else {
        take();
    }
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        if constexpr (F::in_packs && whole) F::Monoid::accumulate_pack(F::of(lanes)[0], F::of(packs));
    });
}
/// The same, and stores them.
template <bool whole, class Kernel>
GRIDFOLD_FN void fold_elements(const Kernel& kernel, Lanes<Kernel>& lanes, const typename Kernel::Loads& loads,
                               i64 first, i32 count, u32 turn) {
    typename Kernel::Stored stored;
    take_elements<whole>(kernel, lanes, stored, loads, first + kernel.skipped, count, turn);
    Kernel::each_store([&](auto* p, auto& pack) { store_pack<whole>(p + first, pack, count, kernel.stores_aligned); },
                       kernel, stored);
    scatter<whole>(kernel, stored, first, count);
}

/// Maps all elements of a thread, of which the first has number `first`, and folds `count` of them: a branch for each
/// would take longer. Puts what is to be stored into `stored`.
template <class Kernel, class Loads>
GRIDFOLD_FN void take_part(const Kernel& kernel, Lanes<Kernel>& lanes, typename Kernel::Stored& stored, Loads& loads,
                           i64 first, i32 count, u32 turn) {
    typename Kernel::Folds::template Packs<Kernel::width> packs;
#pragma unroll
    for (int n = 0; n < Kernel::width; ++n)
        kernel.element(loads, TakingIf<Kernel>{{lanes, packs, stored, first, turn, n}, n < count});
}

/// Sets the lanes' shared origins from the loads of their block's first element, number `first`.
template <class Kernel>
GRIDFOLD_FN void share(const Kernel& kernel, Lanes<Kernel>& lanes, const typename Kernel::Loads& loads, i64 first) {
    typename Kernel::Stored stored;
    kernel.element(loads, Sharing<Kernel>{lanes, stored, first});
}

/// Calls end() of the monoids in steps, after `turns` slabs and `more` elements of the tail. The thread's first element
/// is number `first`; its slabs are `stride` elements apart.
template <class Kernel> GRIDFOLD_FN void end(Lanes<Kernel>& lanes, i64 turns, i32 more, i64 first, i64 stride) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        if constexpr (F::in_steps && F::joins) {
            F::Monoid::end(F::of(lanes)[0], turns + (more > 0), first, stride, Kernel::width);
        } else if constexpr (F::in_steps) {
#pragma unroll
            for (int n = 0; n < Kernel::width; ++n)
                F::Monoid::end(F::of(lanes)[n], turns + (n < more), first + n, stride, 1);
        }
    });
}

/// Converts the one lane that a block's lanes were reduced to into the State of each fold.
template <class Kernel> GRIDFOLD_FN void close(Lanes<Kernel>& lanes, States<Kernel, 1>& states, i64 elements) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        if constexpr (F::of_block)
            F::of(states)[0] = F::Monoid::close(F::of(lanes)[0], lanes.template origin<F>(), elements);
        else
            F::of(states)[0] = F::of(lanes)[0];
    });
}

} // namespace GRIDFOLD_NAMESPACE
