//! The description, parsed.

/// All classes.
pub(crate) struct Protocol {
    pub(crate) classes: Vec<Class>,
}

pub(crate) struct Class {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) methods: Vec<Method>,
    pub(crate) properties: Vec<Argument>,
}

pub(crate) struct Method {
    pub(crate) id: u16,
    pub(crate) name: String,
    /// `C`, `S` or `CS`.
    pub(crate) senders: String,
    pub(crate) has_content: bool,
    pub(crate) arguments: Vec<Argument>,
}

pub(crate) struct Argument {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) is_unused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bit,
    Octet,
    Short,
    Long,
    LongLong,
    ShortStr,
    Utf8,
    LongStr,
    Table,
}

impl Protocol {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut classes: Vec<Class> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            parse_line(line, &mut classes).ok_or_else(|| format!("line {}: cannot read {line:?}", at + 1))?;
        }
        Ok(Protocol { classes })
    }
}

fn parse_line(line: &str, classes: &mut Vec<Class>) -> Option<()> {
    if let Some(class) = line.strip_prefix("class ") {
        let (id, name) = class.split_once(' ')?;
        let class = Class { id: id.parse().ok()?, name: name.to_owned(), methods: Vec::new(), properties: Vec::new() };
        classes.push(class);
        return Some(());
    }
    let class = classes.last_mut()?;
    let (head, arguments) = line.split_once(':')?;
    let arguments = parse_arguments(arguments)?;
    if head == "properties" {
        class.properties = arguments;
        return Some(());
    }
    let mut words = head.split(' ');
    let method = Method {
        id: words.next()?.parse().ok()?,
        name: words.next()?.to_owned(),
        senders: words.next().filter(|who| ["C", "S", "CS"].contains(who))?.to_owned(),
        has_content: words.next().map_or(Some(false), |word| (word == "content").then_some(true))?,
        arguments,
    };
    class.methods.push(method);
    Some(())
}

fn parse_arguments(list: &str) -> Option<Vec<Argument>> {
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(parse_argument).collect()
}

fn parse_argument(argument: &str) -> Option<Argument> {
    let (kind, name) = argument.trim().split_once(' ')?;
    let kind = match kind {
        "bit" => Kind::Bit,
        "octet" => Kind::Octet,
        "short" => Kind::Short,
        "long" => Kind::Long,
        "longlong" => Kind::LongLong,
        "shortstr" => Kind::ShortStr,
        "utf8" => Kind::Utf8,
        "longstr" => Kind::LongStr,
        "table" => Kind::Table,
        _ => return None,
    };
    let is_unused = name.ends_with('!');
    Some(Argument { kind, name: name.trim_end_matches('!').to_owned(), is_unused })
}

impl Kind {
    pub(crate) fn is_borrowed(self) -> bool {
        matches!(self, Kind::ShortStr | Kind::Utf8 | Kind::LongStr | Kind::Table)
    }

    /// The name in documentation.
    pub(crate) fn amqp_name(self) -> &'static str {
        match self {
            Kind::Bit => "bit",
            Kind::Octet => "octet",
            Kind::Short => "short",
            Kind::Long => "long",
            Kind::LongLong => "longlong",
            Kind::ShortStr => "shortstr",
            Kind::Utf8 => "shortstr in UTF-8",
            Kind::LongStr => "longstr",
            Kind::Table => "table",
        }
    }

    pub(crate) fn rust_type(self) -> &'static str {
        match self {
            Kind::Bit => "bool",
            Kind::Octet => "u8",
            Kind::Short => "u16",
            Kind::Long => "u32",
            Kind::LongLong => "u64",
            Kind::ShortStr | Kind::Utf8 | Kind::LongStr => "&'a [u8]",
            Kind::Table => "Table<'a>",
        }
    }

    /// The reader's function; bits have none.
    pub(crate) fn reader(self) -> &'static str {
        match self {
            Kind::Bit => unreachable!("bits are read by the octet"),
            Kind::Octet => "u8",
            Kind::Short => "u16",
            Kind::Long => "u32",
            Kind::LongLong => "u64",
            Kind::ShortStr => "short_str",
            Kind::Utf8 => "utf8",
            Kind::LongStr => "long_str",
            Kind::Table => "table",
        }
    }

    /// The writer's function; bits have none.
    pub(crate) fn writer(self) -> &'static str {
        match self {
            Kind::Utf8 => "put_short_str",
            Kind::Bit => unreachable!("bits are written by the octet"),
            Kind::Octet => "put_u8",
            Kind::Short => "put_u16",
            Kind::Long => "put_u32",
            Kind::LongLong => "put_u64",
            Kind::ShortStr => "put_short_str",
            Kind::LongStr => "put_long_str",
            Kind::Table => "put_table",
        }
    }
}

impl Argument {
    /// The field's name in Rust.
    pub(crate) fn field(&self) -> String {
        match self.name.as_str() {
            "type" => "kind".to_owned(),
            name => name.replace('-', "_"),
        }
    }
}

impl Method {
    /// The struct's name.
    pub(crate) fn type_name(&self) -> String {
        camel(&self.name)
    }

    pub(crate) fn is_borrowed(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind.is_borrowed())
    }
}

/// `declare-ok` as `DeclareOk`.
pub(crate) fn camel(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('-') {
        let (first, rest) = word.split_at(1);
        camel.push_str(&first.to_uppercase());
        camel.push_str(rest);
    }
    camel
}
