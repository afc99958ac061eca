//! A plan's values as the wire has them.

use amqp::{ArrayBuf, TableBuf};

use crate::plan::{Arguments, Value};

/// Why a value cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the argument name '{0}' is longer than 255 bytes")]
pub(crate) struct NameTooLong(String);

/// Arguments as a field table.
pub(crate) fn table(arguments: &Arguments) -> Result<TableBuf, NameTooLong> {
    let mut table = TableBuf::new();
    for (name, value) in arguments {
        let mut pushed = Ok(());
        with_value(value, &mut |value| pushed = table.push(name.as_bytes(), value))?;
        pushed.map_err(|_| NameTooLong(name.clone()))?;
    }
    Ok(table)
}

/// Gives a value as the wire has it to `put`.
fn with_value(value: &Value, put: &mut dyn FnMut(amqp::Value<'_>)) -> Result<(), NameTooLong> {
    match value {
        Value::Bool(value) => put(amqp::Value::Bool(*value)),
        Value::Int(value) => match i32::try_from(*value) {
            Ok(value) => put(amqp::Value::I32(value)),
            Err(_) => put(amqp::Value::I64(*value)),
        },
        Value::Float(value) => put(amqp::Value::F64(*value)),
        Value::Timestamp(value) => put(amqp::Value::Timestamp(*value)),
        Value::Text(value) => put(amqp::Value::LongStr(value.as_bytes())),
        Value::List(values) => {
            let mut array = ArrayBuf::new();
            for value in values {
                with_value(value, &mut |value| array.push(value))?;
            }
            put(amqp::Value::Array(array.as_array()))
        }
        Value::Table(fields) => put(amqp::Value::Table(table(fields)?.as_table())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_its_type_on_the_wire() {
        let arguments = vec![
            ("a".to_owned(), Value::Bool(true)),
            ("b".to_owned(), Value::Int(7)),
            ("c".to_owned(), Value::Int(1 << 40)),
            ("d".to_owned(), Value::Text("x".to_owned())),
            ("e".to_owned(), Value::List(vec![Value::Float(0.5)])),
            ("f".to_owned(), Value::Table(vec![("g".to_owned(), Value::Int(-1))])),
        ];
        let table = table(&arguments).unwrap();
        let shown = format!("{:?}", table.as_table());
        assert_eq!(table.as_table().iter().count(), 6);
        assert_eq!(table.as_table().get("b"), Some(amqp::Value::I32(7)));
        assert_eq!(table.as_table().get("c"), Some(amqp::Value::I64(1 << 40)));
        assert!(
            matches!(table.as_table().get("e"), Some(amqp::Value::Array(array)) if array.iter().count() == 1),
            "{shown}"
        );
        assert!(
            matches!(table.as_table().get("f"), Some(amqp::Value::Table(inner)) if inner.get("g").is_some()),
            "{shown}"
        );
    }

    #[test]
    fn name_that_does_not_fit_is_refused() {
        let arguments = vec![("x".repeat(256), Value::Int(1))];
        assert!(table(&arguments).is_err());
    }
}
