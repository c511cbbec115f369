// Numbers of things that lie in tables. Their type says what they number, so that a node is not taken for an array.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace gf {

/// The position of an `Of` in the table of all of them; −1 = none.
template <class Of> class Id {
public:
    constexpr Id() = default;
    template <std::integral Number> constexpr explicit Id(Number number) : number_(static_cast<int>(number)) {}

    constexpr bool valid() const { return number_ >= 0; }
    constexpr int number() const { return number_; }
    /// Undefined where it is not valid.
    constexpr std::size_t index() const { return static_cast<std::size_t>(number_); }
    constexpr Id next() const { return Id(number_ + 1); }
    friend constexpr bool operator==(Id, Id) = default;
    friend constexpr std::strong_ordering operator<=>(Id a, Id b) { return a.number_ <=> b.number_; }

private:
    int number_ = -1;
};

/// All ids from 0 up to an end, for a range-based for.
template <class I> class Ids {
public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = I;
        using difference_type = std::ptrdiff_t;
        using pointer = const I*;
        using reference = I;

        constexpr Iterator() = default;
        constexpr explicit Iterator(I id) : id_(id) {}
        constexpr I operator*() const { return id_; }
        constexpr Iterator& operator++() {
            id_ = id_.next();
            return *this;
        }
        constexpr Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        friend constexpr bool operator==(Iterator, Iterator) = default;

    private:
        I id_;
    };
    constexpr explicit Ids(std::size_t count) : end_(count) {}
    constexpr Iterator begin() const { return Iterator(I(0)); }
    constexpr Iterator end() const { return Iterator(end_); }

private:
    I end_;
};

/// A vector whose elements are named by ids.
template <class I, class T> class Table : public std::vector<T> {
    using Base = std::vector<T>;

public:
    using Base::Base;
    using Base::operator[];
    typename Base::reference operator[](I id) { return Base::operator[](id.index()); }
    typename Base::const_reference operator[](I id) const { return Base::operator[](id.index()); }

    /// Appends; returns where.
    I add(T value) {
        Base::push_back(std::move(value));
        return I(Base::size() - 1);
    }
    /// The id that add() would return.
    I next() const { return I(Base::size()); }
    Ids<I> ids() const { return Ids<I>(Base::size()); }
    bool holds(I id) const { return id.valid() && id.index() < Base::size(); }
};

} // namespace gf
