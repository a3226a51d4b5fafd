#pragma once
// Lists of small integers in one flat array, so that copying many of them is one copy. Internal to
// ir/dim.
#include <vector>

namespace lathe::dim {

class ItemLists {
 public:
  struct List {
    int head = -1, tail = -1, size = 0;
  };

  void Append(List* list, int item) {
    int entry = static_cast<int>(entries_.size());
    entries_.push_back({item, -1});
    (list->tail < 0 ? list->head : entries_[static_cast<size_t>(list->tail)].next) = entry;
    list->tail = entry;
    ++list->size;
  }

  int Last(const List& list) const {
    return list.tail < 0 ? -1 : entries_[static_cast<size_t>(list.tail)].item;
  }

  // Calls `f(item)` in order of adding, until it returns false. Items may be added meanwhile.
  template <typename F>
  void ForEach(const List& list, F f) const {
    for (int e = list.head; e >= 0; e = entries_[static_cast<size_t>(e)].next) {
      if (!f(entries_[static_cast<size_t>(e)].item)) return;
    }
  }

  void clear() { entries_.clear(); }

 private:
  struct Entry {
    int item, next;
  };
  std::vector<Entry> entries_;
};

}  // namespace lathe::dim
