//! A map that drops old entries, so that it never grows beyond a bound.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A map in two generations: when the young one is full it replaces the old one.
///
/// Reading does not reorder entries, so readers share a lock.
#[derive(Debug)]
pub(crate) struct Memory<Key, Value> {
    young: HashMap<Key, Value>,
    old: HashMap<Key, Value>,
    max_weight: usize,
    weight: usize,
}

impl<Key: Eq + Hash, Value> Memory<Key, Value> {
    /// Creates a map that holds at most twice this weight, and at least the latest entry.
    pub(crate) fn new(max_weight: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), max_weight, weight: 0 }
    }

    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&Value>
    where
        Key: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn insert(&mut self, key: Key, value: Value, weight: usize) {
        if self.weight.saturating_add(weight) > self.max_weight {
            // Dropping a whole generation is cheaper than ordering entries by age, and lookups need no write lock.
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        // Otherwise an outdated value would reappear once the new one is dropped.
        self.old.remove(&key);
        self.weight += weight;
        self.young.insert(key, value);
    }

    pub(crate) fn remove<Q>(&mut self, key: &Q)
    where
        Key: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.young.remove(key);
        self.old.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_entries_are_dropped_within_the_bound() {
        let mut memory = Memory::new(10);
        for key in 0..1_000 {
            memory.insert(key, (), 3);
            assert!(memory.get(&key).is_some());
            assert!(memory.young.len() + memory.old.len() <= 6);
        }
        assert!(memory.get(&0).is_none());
        memory.remove(&999);
        assert!(memory.get(&999).is_none());
    }

    #[test]
    fn an_entry_above_the_bound_is_kept_alone() {
        let mut memory = Memory::new(1);
        memory.insert("light", (), 1);
        memory.insert("heavy", (), 100);
        assert!(memory.get("heavy").is_some());
        memory.insert("next", (), 1);
        memory.insert("after", (), 1);
        assert!(memory.get("heavy").is_none());
    }
}
