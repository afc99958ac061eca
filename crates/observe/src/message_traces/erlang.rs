//! Values as Erlang prints them (`~tp`), on lines of 80 characters: text traces have them.

use std::fmt::Write as _;

use amqp::table::{Array, Table, Value};

/// Where Erlang breaks lines.
const LINE_LEN: usize = 80;

/// A term, as far as traces have any.
#[derive(Debug, Clone, PartialEq)]
enum Term {
    /// Printed as it is.
    Flat(String),
    Tuple(Vec<Term>),
    List(Vec<Term>),
}

/// A list of binaries, printed from this column on.
pub(super) fn binaries<'a>(texts: impl IntoIterator<Item = &'a [u8]>, column: usize) -> String {
    let list = Term::List(texts.into_iter().map(|text| Term::Flat(binary(text))).collect());
    print(&list, column)
}

/// A table, printed from this column on.
pub(super) fn table(table: Table<'_>, column: usize) -> String {
    print(&term_of_table(table), column)
}

fn print(term: &Term, column: usize) -> String {
    let mut out = String::new();
    term.print(column, 0, &mut out);
    out
}

fn term_of_table(table: Table<'_>) -> Term {
    let field = |(name, value): (&[u8], Value<'_>)| {
        let (kind, value) = typed(&value);
        Term::Tuple(vec![Term::Flat(binary(name)), Term::Flat(kind.to_owned()), value])
    };
    Term::List(table.iter().map(field).collect())
}

fn term_of_array(array: Array<'_>) -> Term {
    let item = |value: Value<'_>| {
        let (kind, value) = typed(&value);
        Term::Tuple(vec![Term::Flat(kind.to_owned()), value])
    };
    Term::List(array.iter().map(item).collect())
}

/// A value with the name that RabbitMQ has for its type.
fn typed(value: &Value<'_>) -> (&'static str, Term) {
    let flat = |text: String| Term::Flat(text);
    match *value {
        Value::Bool(is) => ("bool", flat(is.to_string())),
        Value::I8(number) => ("byte", flat(number.to_string())),
        Value::U8(number) => ("unsignedbyte", flat(number.to_string())),
        Value::I16(number) => ("short", flat(number.to_string())),
        Value::U16(number) => ("unsignedshort", flat(number.to_string())),
        Value::I32(number) => ("signedint", flat(number.to_string())),
        Value::U32(number) => ("unsignedint", flat(number.to_string())),
        Value::I64(number) => ("long", flat(number.to_string())),
        Value::F32(number) => ("float", flat(float(f64::from(number)))),
        Value::F64(number) => ("double", flat(float(number))),
        Value::Decimal { scale, value } => ("decimal", flat(format!("{{{scale},{value}}}"))),
        Value::LongStr(bytes) => ("longstr", flat(binary(bytes))),
        Value::Timestamp(seconds) => ("timestamp", flat(seconds.to_string())),
        Value::Table(table) => ("table", term_of_table(table)),
        Value::Array(array) => ("array", term_of_array(array)),
        Value::Binary(bytes) => ("binary", flat(binary(bytes))),
        Value::Void => ("void", flat("undefined".to_owned())),
    }
}

/// Whole ones have a fraction, too.
fn float(number: f64) -> String {
    format!("{number:?}")
}

fn binary(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(is_printable));
    let Some(text) = text else {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        return format!("<<{}>>", numbers.join(","));
    };
    if text.is_empty() {
        return "<<>>".to_owned();
    }
    let mut out = "<<\"".to_owned();
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char => out.push(char),
        }
    }
    // The end says which of the two it is.
    let _ = write!(out, "\"{}>>", if text.is_ascii() { "" } else { "/utf8" });
    out
}

fn is_printable(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\t') || !char.is_control()
}

impl Term {
    fn flat(&self) -> String {
        let joined = |items: &[Term]| items.iter().map(Term::flat).collect::<Vec<_>>().join(",");
        match self {
            Term::Flat(text) => text.clone(),
            Term::Tuple(items) => format!("{{{}}}", joined(items)),
            Term::List(items) => format!("[{}]", joined(items)),
        }
    }

    /// Prints it from this column on; `tail`: so many closing brackets follow on its last line.
    fn print(&self, column: usize, tail: usize, out: &mut String) {
        let flat = self.flat();
        if column + flat.chars().count() + tail <= LINE_LEN {
            out.push_str(&flat);
            return;
        }
        let (open, items, close) = match self {
            Term::Flat(text) => {
                out.push_str(text);
                return;
            }
            Term::Tuple(items) => ('{', items, '}'),
            Term::List(items) => ('[', items, ']'),
        };
        out.push(open);
        let mut at = column + 1;
        for (index, item) in items.iter().enumerate() {
            let is_last = index + 1 == items.len();
            let item_tail = if is_last { tail + 1 } else { 1 };
            if index > 0 {
                out.push(',');
                at += 1;
                let fits = at + item.flat().chars().count() + item_tail <= LINE_LEN;
                // Of a list only what is no list or tuple shares a line.
                let may_share = matches!((self, item), (Term::Tuple(_), _) | (_, Term::Flat(_)));
                if !(fits && may_share) {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', column + 1));
                    at = column + 1;
                }
            }
            item.print(at, item_tail, out);
            at += item.flat().chars().count();
        }
        out.push(close);
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::{ArrayBuf, TableBuf};

    use super::*;

    /// As a RabbitMQ 4.3.6 printed it.
    #[test]
    fn tables_are_printed_as_by_erlang() {
        let list = ArrayBuf::new().with(Value::I32(1)).with(Value::LongStr(b"a")).with(Value::Void);
        let inner = TableBuf::new()
            .with("n", Value::Void)
            .with("b", Value::Bool(true))
            .with("l", Value::Array(list.as_array()));
        let headers = TableBuf::new()
            .with("h", Value::I32(1))
            .with("s", Value::LongStr(b"x"))
            .with("t", Value::Table(inner.as_table()));
        let properties = TableBuf::new()
            .with("app_id", Value::LongStr(b"app"))
            .with("priority", Value::I32(3))
            .with("delivery_mode", Value::I32(2))
            .with("headers", Value::Table(headers.as_table()))
            .with("content_encoding", Value::LongStr(b"utf8"))
            .with("content_type", Value::LongStr(b"text/plain"));
        let expected = r#"[{<<"app_id">>,longstr,<<"app">>},
               {<<"priority">>,signedint,3},
               {<<"delivery_mode">>,signedint,2},
               {<<"headers">>,table,
                [{<<"h">>,signedint,1},
                 {<<"s">>,longstr,<<"x">>},
                 {<<"t">>,table,
                  [{<<"n">>,void,undefined},
                   {<<"b">>,bool,true},
                   {<<"l">>,array,
                    [{signedint,1},{longstr,<<"a">>},{void,undefined}]}]}]},
               {<<"content_encoding">>,longstr,<<"utf8">>},
               {<<"content_type">>,longstr,<<"text/plain">>}]"#;
        assert_eq!(table(properties.as_table(), 14), expected);
    }

    #[test]
    fn what_is_short_stays_on_one_line() {
        let copies = ArrayBuf::new().with(Value::LongStr(b"q2")).with(Value::LongStr(b"nope"));
        let headers = TableBuf::new().with("CC", Value::Array(copies.as_array()));
        let properties = TableBuf::new().with("headers", Value::Table(headers.as_table()));
        let expected = "[{<<\"headers\">>,table,\n                \
                        [{<<\"CC\">>,array,[{longstr,<<\"q2\">>},{longstr,<<\"nope\">>}]}]}]";
        assert_eq!(table(properties.as_table(), 14), expected);
        assert_eq!(table(Table::EMPTY, 14), "[]");
        assert_eq!(binaries([&b"q1"[..], b"q2"], 14), r#"[<<"q1">>,<<"q2">>]"#);
    }

    #[test]
    fn binaries_are_text_where_they_can_be() {
        assert_eq!(binary(b"a\"b\\\n"), r#"<<"a\"b\\\n">>"#);
        assert_eq!(binary("ä".as_bytes()), "<<\"ä\"/utf8>>");
        assert_eq!(binary(&[0, 255]), "<<0,255>>");
        assert_eq!(binary(b""), "<<>>");
    }
}
