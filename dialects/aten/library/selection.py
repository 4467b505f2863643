"""The order in which PyTorch's CPU kernel of `topk` gives equal elements: that of libstdc++'s algorithms, step by step."""

from __future__ import annotations

from collections.abc import Sequence


def selected(ranks: Sequence[int], k: int, in_order: bool) -> list[int]:
    """Returns the places of the k first of the ranks; few of many are always in order."""
    count = len(ranks)
    if not k:
        return []
    entries = [(rank, place) for place, rank in enumerate(ranks)]
    if k * 64 <= count:
        _partial_sort(entries, 0, k, count)
    else:
        _nth_element(entries, k, count)
        if in_order:
            _sort(entries, k - 1)
    return [place for _, place in entries[:k]]


_Entries = list[tuple[int, int]]


def _adjust_heap(entries: _Entries, first: int, hole: int, length: int, value: tuple[int, int]) -> None:
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if entries[first + child][0] < entries[first + child - 1][0]:
            child -= 1
        entries[first + hole] = entries[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        entries[first + hole] = entries[first + child - 1]
        hole = child - 1
    while hole > top and entries[first + (hole - 1) // 2][0] < value[0]:
        entries[first + hole] = entries[first + (hole - 1) // 2]
        hole = (hole - 1) // 2
    entries[first + hole] = value


def _pop_heap(entries: _Entries, first: int, length: int, result: int) -> None:
    value, entries[result] = entries[result], entries[first]
    _adjust_heap(entries, first, 0, length, value)


def _heap_select(entries: _Entries, first: int, k: int, last: int) -> None:
    for parent in reversed(range(k // 2)):
        _adjust_heap(entries, first, parent, k, entries[first + parent])
    for place in range(first + k, last):
        if entries[place][0] < entries[first][0]:
            _pop_heap(entries, first, k, place)


def _partial_sort(entries: _Entries, first: int, k: int, last: int) -> None:
    _heap_select(entries, first, k, last)
    for rest in range(k, 1, -1):
        _pop_heap(entries, first, rest - 1, first + rest - 1)


def _partition(entries: _Entries, first: int, last: int) -> int:
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    low, high = (a, b) if entries[a][0] < entries[b][0] else (b, a)
    median = high if entries[high][0] < entries[c][0] else c if entries[low][0] < entries[c][0] else low
    entries[first], entries[median] = entries[median], entries[first]
    pivot = entries[first][0]
    low, high = first + 1, last
    while True:
        while entries[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < entries[high][0]:
            high -= 1
        if low >= high:
            return low
        entries[low], entries[high] = entries[high], entries[low]
        low += 1


def _patience(count: int) -> int:
    return 2 * (count.bit_length() - 1) if count else 0


def _nth_element(entries: _Entries, k: int, last: int) -> None:
    first, depth = 0, _patience(last)
    while last - first > 3:
        if not depth:
            _heap_select(entries, first, k - first, last)
            entries[first], entries[k - 1] = entries[k - 1], entries[first]
            return
        depth -= 1
        cut = _partition(entries, first, last)
        first, last = (cut, last) if cut <= k - 1 else (first, cut)
    entries[first:last] = sorted(entries[first:last], key=lambda entry: entry[0])


def _sort(entries: _Entries, count: int) -> None:
    waiting = [(0, count, _patience(count))]
    while waiting:
        first, last, depth = waiting.pop()
        while last - first > 16:
            if not depth:
                _partial_sort(entries, first, last - first, last)
                break
            depth -= 1
            cut = _partition(entries, first, last)
            waiting.append((cut, last, depth))
            last = cut
    entries[:count] = sorted(entries[:count], key=lambda entry: entry[0])
