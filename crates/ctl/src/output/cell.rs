//! A value in a cell of a table.

use serde_json::Value;

/// A value as rabbitmqctl writes it. Arguments look like Erlang's lists of pairs, other objects like JSON.
pub(crate) fn cell(column: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| cell(column, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(_) if is_arguments(column) => erlang(value),
        other => other.to_string(),
    }
}

fn is_arguments(column: &str) -> bool {
    column.ends_with("arguments") || column.ends_with("properties") || column.ends_with("capabilities")
}

/// `[{"x-max-length",10},{"x-overflow","drop-head"}]`
fn erlang(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let pairs =
                fields.iter().map(|(name, value)| format!("{{{},{}}}", Value::from(name.as_str()), erlang(value)));
            format!("[{}]", pairs.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(erlang).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// A name may have tabs, ends of lines, and what a terminal obeys: a table cannot.
pub(crate) fn visible(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    for char in cell.chars() {
        match char {
            char if char.is_control() => out.push_str(&format!("\\{:03o}", u32::from(char))),
            char => out.push(char),
        }
    }
    out
}
