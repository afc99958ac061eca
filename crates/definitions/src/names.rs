//! Names of things in virtual hosts, with something about each: there may be millions.

use std::collections::HashMap;

/// Names by virtual host.
#[derive(Debug)]
pub struct Names<T>(HashMap<String, HashMap<Box<str>, T>>);

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names(HashMap::new())
    }
}

impl<T> Names<T> {
    /// What is known of a name.
    #[must_use]
    pub fn get(&self, vhost: &str, name: &str) -> Option<&T> {
        self.0.get(vhost)?.get(name)
    }

    /// Whether there is such a name.
    #[must_use]
    pub fn contains(&self, vhost: &str, name: &str) -> bool {
        self.get(vhost, name).is_some()
    }

    /// Adds a name, unless it is there.
    pub fn add(&mut self, vhost: &str, name: &str, about: T) {
        if !self.0.contains_key(vhost) {
            self.0.insert(vhost.to_owned(), HashMap::new());
        }
        if let Some(names) = self.0.get_mut(vhost)
            && !names.contains_key(name)
        {
            names.insert(name.into(), about);
        }
    }

    /// How many names a virtual host has.
    #[must_use]
    pub fn count(&self, vhost: &str) -> usize {
        self.0.get(vhost).map_or(0, HashMap::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_stays() {
        let mut names = Names::default();
        for (vhost, name, about) in [("a", "x", 1), ("a", "x", 2), ("b", "x", 3), ("a", "y", 4)] {
            names.add(vhost, name, about);
        }
        assert_eq!([names.get("a", "x"), names.get("b", "x"), names.get("c", "x")], [Some(&1), Some(&3), None]);
        assert_eq!((names.count("a"), names.count("c"), names.contains("b", "y")), (2, 0, false));
    }
}
