//! Lists of one kind of thing: which columns there are, and which field of the HTTP API's objects each is.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult};

/// A column: rabbitmqctl's name for it, and where it is in the objects.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Names of fields, from the outside to the inside, with dots between; nothing if the HTTP API does not have it.
    field: &'static str,
    convert: fn(Value) -> Value,
}

/// A column that has its own name in the objects.
pub(crate) const fn same(name: &'static str) -> Column {
    Column { name, field: name, convert: unchanged }
}

/// A column that has another name in the objects.
pub(crate) const fn renamed(name: &'static str, field: &'static str) -> Column {
    Column { name, field, convert: unchanged }
}

/// A column that looks otherwise in the objects, too.
pub(crate) const fn converted(name: &'static str, field: &'static str, convert: fn(Value) -> Value) -> Column {
    Column { name, field, convert }
}

/// A column that rabbitmqctl knows, and the HTTP API does not have.
pub(crate) const fn untold(name: &'static str) -> Column {
    Column { name, field: "", convert: unchanged }
}

/// Columns, one after the other: a name alone is a column that has its own name in the objects.
macro_rules! columns {
    (@one { $column:expr }) => { $column };
    (@one $name:literal) => { $crate::listing::same($name) };
    ($($column:tt)*) => { &[$($crate::listing::columns!(@one $column)),*] };
}
pub(crate) use columns;

/// As rabbitmqctl shows some: the value's JSON, so that a text has its quotes.
pub(crate) fn json_text(value: Value) -> Value {
    Value::String(value.to_string())
}

fn unchanged(value: Value) -> Value {
    value
}

/// A kind of list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) columns: &'static [Column],
    /// Those that are shown if none are asked for; empty: all.
    pub(crate) default: &'static [&'static str],
}

impl Listing {
    /// A list of which all columns are shown.
    pub(crate) const fn of(columns: &'static [Column]) -> Listing {
        Listing { columns, default: &[] }
    }

    /// The columns that are asked for, as the argument `column`.
    pub(crate) fn chosen(&self, input: &Invocation) -> Result<Vec<&'static Column>, Failure> {
        let words = input.all("column").iter().flat_map(|word| word.split(',')).map(str::trim);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        match (&*words, self.default) {
            ([], []) => Ok(self.columns.iter().collect()),
            ([], default) => default.iter().map(|word| self.column(word)).collect(),
            (words, _) => words.iter().map(|word| self.column(word)).collect(),
        }
    }

    fn column(&self, name: &str) -> Result<&'static Column, Failure> {
        let names = || self.columns.iter().map(|column| column.name);
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            Failure::usage(match human::closest(name, names()) {
                Some(near) => format!("unknown column '{name}', did you mean '{near}'?"),
                None => format!("unknown column '{name}': one of {}", names().collect::<Vec<_>>().join(", ")),
            })
        })
    }

    /// Asks for a list, and shows the columns that are asked for.
    pub(crate) fn ask(&'static self, input: &Invocation, path: String) -> StepResult {
        let columns = self.chosen(input)?;
        let path = with_columns(path, &columns);
        let vhost = input.vhost().to_owned();
        Ask::get(path).then(move |reply| {
            let items = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
            show(&columns, &items)
        })
    }
}

/// Shows these columns of objects.
pub(crate) fn show(columns: &[&'static Column], items: &[Value]) -> StepResult {
    Ok(Step::Done(Output::Table(table(columns, items))))
}

/// These columns of objects.
pub(crate) fn table(columns: &[&'static Column], items: &[Value]) -> Table {
    let cell =
        |item: &Value, column: &Column| (column.convert)(field(item, column.field).cloned().unwrap_or(Value::Null));
    Table {
        columns: columns.iter().map(|column| column.name.to_owned()).collect(),
        rows: items.iter().map(|item| columns.iter().map(|column| cell(item, column)).collect()).collect(),
    }
}

/// The same path, asking for no more than what is shown.
pub(crate) fn with_columns(path: String, columns: &[&Column]) -> String {
    let fields: Vec<&str> = columns.iter().map(|column| column.field).filter(|field| !field.is_empty()).collect();
    if fields.is_empty() { path } else { format!("{path}?columns={}", fields.join(",")) }
}

/// A field, or a field of a field.
pub(crate) fn field<'a>(item: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return None;
    }
    path.split('.').try_fold(item, |value, name| value.get(name))
}

/// A field that is a text, or nothing.
pub(crate) fn text<'a>(item: &'a Value, path: &str) -> &'a str {
    field(item, path).and_then(Value::as_str).unwrap_or_default()
}

/// An object's fields by dotted names, down to a depth. Fields that are objects themselves have no value of their own.
pub(crate) fn flattened(item: &Value, depth: usize) -> Map<String, Value> {
    fn put(out: &mut Map<String, Value>, prefix: &str, item: &Map<String, Value>, depth: usize) {
        for (name, value) in item {
            let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                Value::Object(inner) if depth > 1 => put(out, &name, inner, depth - 1),
                Value::Object(_) => {}
                value => {
                    out.insert(name, value.clone());
                }
            }
        }
    }
    let mut out = Map::new();
    if let Value::Object(fields) = item {
        put(&mut out, "", fields, depth);
    }
    out
}
