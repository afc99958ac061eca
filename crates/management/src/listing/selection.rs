//! Which members of an object are wanted: the query parameter `columns`, such as `name,message_stats.publish`.

/// What the name of a number's details ends with.
pub(crate) const DETAILS: &str = "_details";

/// What is wanted of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All of it.
    All,
    /// Members by name, and what of each. Few, so a list.
    Members(Vec<(Box<str>, Selection)>),
}

impl Selection {
    /// Reads `columns`. Empty names are skipped, and naming a member whole beats naming parts of it. No name is no member.
    pub(crate) fn parse(columns: &str) -> Selection {
        let mut selection = Selection::nothing();
        for column in columns.split(',') {
            let mut path = column.split('.').filter(|segment| !segment.is_empty()).peekable();
            if path.peek().is_some() {
                selection.add(path);
            }
        }
        selection
    }

    /// Nothing, to which what is wanted is added.
    pub(super) fn nothing() -> Selection {
        Selection::Members(Vec::new())
    }

    /// Wants what is at a path, too.
    pub(super) fn add<'a>(&mut self, path: impl Iterator<Item = &'a str>) {
        let mut part = self;
        for name in path {
            let Selection::Members(members) = part else { return };
            let at = members.iter().position(|(own, _)| **own == *name).unwrap_or_else(|| {
                members.push((Box::from(name), Selection::nothing()));
                members.len() - 1
            });
            part = &mut members[at].1;
        }
        *part = Selection::All;
    }

    /// What is wanted of a member; `None`: nothing.
    pub(crate) fn of(&self, name: &str) -> Option<&Selection> {
        match self {
            Selection::All => Some(&Selection::All),
            Selection::Members(members) => members.iter().find(|(own, _)| **own == *name).map(|(_, wanted)| wanted),
        }
    }

    /// What is wanted of the details of a number; `None`: nothing.
    pub(crate) fn of_details(&self, number: &str) -> Option<&Selection> {
        let is_it = |name: &str| name.strip_suffix(DETAILS) == Some(number);
        match self {
            Selection::All => Some(&Selection::All),
            Selection::Members(members) => members.iter().find(|(own, _)| is_it(own)).map(|(_, wanted)| wanted),
        }
    }

    /// Whether all is wanted, or a member is wanted whole whose name `is_it` accepts.
    pub(crate) fn reaches(&self, is_it: impl Fn(&str) -> bool + Copy) -> bool {
        match self {
            Selection::All => true,
            Selection::Members(members) => members.iter().any(|(name, part)| match part {
                Selection::All => is_it(name),
                Selection::Members(_) => part.reaches(is_it),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_name_members_and_members_of_members() {
        let selection = Selection::parse("name,message_stats.publish_details.rate,message_stats.ack");
        assert_eq!(selection.of("name"), Some(&Selection::All));
        assert_eq!(selection.of("vhost"), None);
        let stats = selection.of("message_stats").unwrap();
        assert_eq!(stats.of("ack"), Some(&Selection::All));
        assert_eq!(stats.of("publish_details").unwrap().of("rate"), Some(&Selection::All));
        assert_eq!(stats.of("publish"), None);
    }

    #[test]
    fn the_whole_beats_a_part() {
        for columns in ["a,a.b", "a.b,a"] {
            assert_eq!(Selection::parse(columns).of("a"), Some(&Selection::All), "{columns}");
        }
    }

    #[test]
    fn no_name_is_no_member() {
        for columns in ["", ",", ".", ",.,"] {
            assert_eq!(Selection::parse(columns).of("name"), None, "{columns}");
        }
    }
}
