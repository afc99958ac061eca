//! What trees take: their nodes are taken to be two thirds full.

/// What so many entries of a tree take, in bytes.
pub(crate) fn tree_len<K, V>(count: usize) -> usize {
    count * (size_of::<K>() + size_of::<V>()) * 3 / 2
}
