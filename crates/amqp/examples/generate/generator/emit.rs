//! The text of each generated file.

use super::description::{Argument, Class, Kind, Method, Protocol, camel};

const WIDTH: usize = 120;

pub(crate) fn root(protocol: &Protocol) -> String {
    let mut text =
        String::from("//! Written by `examples/generate` from `protocol/amqp0-9-1.txt`. Change that, not this.\n\n");
    let mut modules: Vec<&str> = protocol.classes.iter().map(|class| class.name.as_str()).collect();
    modules.sort_unstable();
    for name in &modules {
        text.push_str(&format!("pub mod {name};\n"));
    }
    text.push_str("pub(crate) mod method;\npub(crate) mod properties;\n");
    sort_lines(text)
}

/// Sorts the module declarations as `rustfmt` does: by name, whatever their visibility.
fn sort_lines(text: String) -> String {
    let (head, list) = text.split_once("\n\n").expect("root() writes an empty line");
    let mut lines: Vec<&str> = list.lines().collect();
    lines.sort_by_key(|line| line.rsplit(' ').next());
    format!("{head}\n\n{}\n", lines.join("\n"))
}

pub(crate) fn class(class: &Class) -> String {
    let mut text = format!("//! Class `{}`: one struct for each method.\n", class.name);
    text.push_str("//!\n//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.\n\n");
    text.push_str("use crate::method_codec::EncodeMethod;\n");
    if class.methods.iter().flat_map(|method| &method.arguments).any(|argument| argument.kind == Kind::Table) {
        text.push_str("use crate::table::Table;\n");
    }
    text.push_str("use crate::wire::{self, Malformed, Reader};\n");
    for method in &class.methods {
        text.push('\n');
        text.push_str(&method_struct(class, method));
    }
    text
}

fn method_struct(class: &Class, method: &Method) -> String {
    let name = method.type_name();
    let senders = match method.senders.as_str() {
        "C" => "clients",
        "S" => "servers",
        _ => "clients and servers",
    };
    let content = if method.has_content { ", with content" } else { "" };
    let mut text = format!("/// `{}.{}`, sent by {senders}{content}.\n", class.name, method.name);
    text.push_str("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n");
    let (generic, anonymous) = if method.is_borrowed() { ("<'a>", "<'_>") } else { ("", "") };
    if method.arguments.is_empty() {
        text.push_str(&format!("pub struct {name};\n"));
    } else {
        text.push_str(&format!("pub struct {name}{generic} {{\n"));
        for argument in &method.arguments {
            text.push_str(&field_doc(argument));
            text.push_str(&format!("    pub {}: {},\n", argument.field(), argument.kind.rust_type()));
        }
        text.push_str("}\n");
    }
    text.push_str(&decode_fn(method, &name, generic));
    text.push_str(&encode_impl(class, method, &name, anonymous));
    text
}

fn field_doc(argument: &Argument) -> String {
    let unused = if argument.is_unused { "; no longer means anything" } else { "" };
    format!("    /// `{}`, a {}{unused}.\n", argument.name, argument.kind.amqp_name()).replace("a octet", "an octet")
}

fn decode_fn(method: &Method, name: &str, generic: &str) -> String {
    let reader = if method.is_borrowed() { "Reader<'a>" } else { "Reader<'_>" };
    let reader_name = if method.arguments.is_empty() { "_reader" } else { "reader" };
    let mut text = format!("\nimpl{generic} {name}{generic} {{\n    #[inline]\n");
    text.push_str(&format!("    pub(crate) fn decode({reader_name}: &mut {reader}) -> Result<Self, Malformed> {{\n"));
    let mut values = Vec::new();
    for run in runs(&method.arguments) {
        if run[0].kind == Kind::Bit {
            let octet = octet_name(&run);
            text.push_str(&format!("        let {octet} = reader.u8()?;\n"));
            for (bit, argument) in run.iter().enumerate() {
                values.push(format!("{}: {octet} & {} != 0", argument.field(), 1 << bit));
            }
        } else {
            let field = run[0].field();
            text.push_str(&format!("        let {field} = reader.{}()?;\n", run[0].kind.reader()));
            values.push(field);
        }
    }
    let built = if values.is_empty() { "Self".to_owned() } else { format!("Self {{ {} }}", values.join(", ")) };
    if built.len() + "        Ok()".len() <= WIDTH {
        text.push_str(&format!("        Ok({built})\n"));
    } else {
        text.push_str("        Ok(Self {\n");
        for value in values {
            text.push_str(&format!("            {value},\n"));
        }
        text.push_str("        })\n");
    }
    text.push_str("    }\n}\n");
    text
}

fn encode_impl(class: &Class, method: &Method, name: &str, anonymous: &str) -> String {
    let mut text = format!("\nimpl EncodeMethod for {name}{anonymous} {{\n    #[inline]\n");
    text.push_str("    fn encode_method(&self, out: &mut Vec<u8>) {\n");
    text.push_str(&format!("        wire::put_u16(out, {});\n", class.id));
    text.push_str(&format!("        wire::put_u16(out, {});\n", method.id));
    for run in runs(&method.arguments) {
        if run[0].kind == Kind::Bit {
            text.push_str(&put_bits(&run));
        } else {
            text.push_str(&format!("        wire::{}(out, self.{});\n", run[0].kind.writer(), run[0].field()));
        }
    }
    text.push_str("    }\n}\n");
    text
}

fn put_bits(run: &[&Argument]) -> String {
    let bits: Vec<String> = run
        .iter()
        .enumerate()
        .map(|(bit, argument)| {
            let value = format!("u8::from(self.{})", argument.field());
            if bit == 0 { value } else { format!("{value} << {bit}") }
        })
        .collect();
    let one_line = format!("        wire::put_u8(out, {});\n", bits.join(" | "));
    if one_line.len() <= WIDTH + 1 {
        return one_line;
    }
    let mut text = format!("        let bits = {}\n", bits[0]);
    let one_line = format!("        let bits = {};\n", bits.join(" | "));
    if one_line.len() <= WIDTH + 1 {
        text = one_line;
    } else {
        for (at, bit) in bits.iter().enumerate().skip(1) {
            let end = if at + 1 == bits.len() { ";" } else { "" };
            text.push_str(&format!("            | {bit}{end}\n"));
        }
    }
    text.push_str("        wire::put_u8(out, bits);\n");
    text
}

/// Arguments as they lie on the wire: neighbouring bits together, up to eight.
fn runs(arguments: &[Argument]) -> Vec<Vec<&Argument>> {
    let mut runs: Vec<Vec<&Argument>> = Vec::new();
    for argument in arguments {
        match runs.last_mut() {
            Some(run) if argument.kind == Kind::Bit && run[0].kind == Kind::Bit && run.len() < 8 => run.push(argument),
            _ => runs.push(vec![argument]),
        }
    }
    runs
}

fn octet_name(run: &[&Argument]) -> String {
    if run.len() == 1 { format!("{}_bit", run[0].field()) } else { "bits".to_owned() }
}

pub(crate) fn method_enum(protocol: &Protocol) -> String {
    let mut text = String::from("//! Any method.\n//!\n");
    text.push_str("//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.\n\n");
    let mut modules: Vec<&str> = protocol.classes.iter().map(|class| class.name.as_str()).collect();
    modules.sort_unstable();
    text.push_str(&format!("use super::{{{}}};\n", modules.join(", ")));
    text.push_str("use crate::method_codec::{DecodeError, EncodeMethod};\nuse crate::wire::{Malformed, Reader};\n\n");
    text.push_str("/// Any method of AMQP 0-9-1, with RabbitMQ's extensions.\n");
    text.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum Method<'a> {\n");
    let methods: Vec<(&Class, &Method)> =
        protocol.classes.iter().flat_map(|class| class.methods.iter().map(move |method| (class, method))).collect();
    for &(class, method) in &methods {
        let generic = if method.is_borrowed() { "<'a>" } else { "" };
        text.push_str(&format!("    /// `{}.{}`\n", class.name, method.name));
        let (variant, name) = (variant(class, method), method.type_name());
        text.push_str(&format!("    {variant}({}::{name}{generic}),\n", class.name));
    }
    text.push_str("}\n\nimpl<'a> Method<'a> {\n");
    text.push_str(&enum_decode(&methods));
    text.push_str(&enum_encode(&methods));
    text.push_str(&enum_ids(&methods));
    text.push_str(&enum_has_content(&methods));
    text.push_str("}\n\nimpl EncodeMethod for Method<'_> {\n    #[inline]\n");
    text.push_str("    fn encode_method(&self, out: &mut Vec<u8>) {\n        self.encode(out);\n    }\n}\n");
    for &(class, method) in &methods {
        let (impl_generic, generic) = if method.is_borrowed() { ("<'a>", "<'a>") } else { ("", "") };
        let method_generic = if method.is_borrowed() { "<'a>" } else { "<'_>" };
        let (variant, name) = (variant(class, method), method.type_name());
        text.push_str(&format!(
            "\nimpl{impl_generic} From<{class}::{name}{generic}> for Method{method_generic} {{\n    #[inline]\n    \
             fn from(method: {class}::{name}{generic}) -> Self {{\n        Method::{variant}(method)\n    }}\n}}\n",
            class = class.name
        ));
    }
    text
}

fn variant(class: &Class, method: &Method) -> String {
    format!("{}{}", camel(&class.name), method.type_name())
}

fn enum_decode(methods: &[(&Class, &Method)]) -> String {
    let mut text = String::from(
        "    /// Decodes the payload of a method frame.\n    #[inline]\n    \
         pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {\n        \
         let Some((&[class0, class1, method0, method1], arguments)) = payload.split_first_chunk::<4>() else {\n            \
         return Err(DecodeError::Malformed { class_id: 0, method_id: 0, reason: Malformed::Truncated });\n        };\n        \
         let class_id = u16::from_be_bytes([class0, class1]);\n        \
         let method_id = u16::from_be_bytes([method0, method1]);\n        \
         Self::decode_arguments(class_id, method_id, arguments)\n            \
         .map_err(|reason| DecodeError::Malformed { class_id, method_id, reason })?\n            \
         .ok_or(DecodeError::Unknown { class_id, method_id })\n    }\n\n    \
         /// `Ok(None)`: there is no such method.\n    #[inline]\n    \
         fn decode_arguments(class_id: u16, method_id: u16, arguments: &'a [u8]) -> Result<Option<Self>, Malformed> {\n        \
         let mut reader = Reader::new(arguments);\n        \
         let method = match (class_id, method_id) {\n",
    );
    for &(class, method) in methods {
        let (variant, name) = (variant(class, method), method.type_name());
        let call = format!("Self::{variant}({}::{name}::decode(&mut reader)?)", class.name);
        text.push_str(&format!("            ({}, {}) => {call},\n", class.id, method.id));
    }
    text.push_str(
        "            _ => return Ok(None),\n        };\n        reader.close()?;\n        Ok(Some(method))\n    }\n\n",
    );
    text
}

fn enum_encode(methods: &[(&Class, &Method)]) -> String {
    let mut text = String::from(
        "    /// Appends the payload of a method frame: class id, method id and arguments.\n    \
         pub fn encode(&self, out: &mut Vec<u8>) {\n        match self {\n",
    );
    for &(class, method) in methods {
        text.push_str(&format!("            Self::{}(method) => method.encode_method(out),\n", variant(class, method)));
    }
    text.push_str("        }\n    }\n\n");
    text
}

fn enum_ids(methods: &[(&Class, &Method)]) -> String {
    let mut text = String::from(
        "    /// The class's number on the wire.\n    #[must_use]\n    pub fn class_id(&self) -> u16 {\n        \
         self.ids().0\n    }\n\n    /// The method's number on the wire, within its class.\n    #[must_use]\n    \
         pub fn method_id(&self) -> u16 {\n        self.ids().1\n    }\n\n    \
         fn ids(&self) -> (u16, u16) {\n        match self {\n",
    );
    for &(class, method) in methods {
        text.push_str(&format!("            Self::{}(_) => ({}, {}),\n", variant(class, method), class.id, method.id));
    }
    text.push_str("        }\n    }\n\n    /// Class and method by name, such as `basic.publish`.\n    #[must_use]\n");
    text.push_str("    pub fn name(&self) -> &'static str {\n        match self {\n");
    for &(class, method) in methods {
        let variant = variant(class, method);
        text.push_str(&format!("            Self::{variant}(_) => \"{}.{}\",\n", class.name, method.name));
    }
    text.push_str("        }\n    }\n\n");
    text
}

fn enum_has_content(methods: &[(&Class, &Method)]) -> String {
    let with_content: Vec<String> = methods
        .iter()
        .filter(|(_, method)| method.has_content)
        .map(|(class, method)| format!("Self::{}(_)", variant(class, method)))
        .collect();
    format!(
        "    /// Whether a content header and a body follow.\n    #[inline]\n    #[must_use]\n    \
         pub fn has_content(&self) -> bool {{\n        matches!(self, {})\n    }}\n",
        with_content.join(" | ")
    )
}

pub(crate) fn properties(class: &Class) -> String {
    let mut text = format!("//! The properties of class `{}`.\n//!\n", class.name);
    text.push_str("//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.\n\n");
    text.push_str("use crate::table::Table;\nuse crate::wire::{self, Malformed, Reader};\n\n");
    text.push_str("/// The properties of a message.\n");
    text.push_str("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\npub struct Properties<'a> {\n");
    for property in &class.properties {
        text.push_str(&field_doc(property));
        text.push_str(&format!("    pub {}: Option<{}>,\n", property.field(), property.kind.rust_type()));
    }
    text.push_str(
        "}\n\nimpl<'a> Properties<'a> {\n    \
         /// Decodes flags and properties: what a content header has after the body's length.\n    #[inline(always)]\n    \
         pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {\n        \
         let mut reader = Reader::new(bytes);\n        let flags = reader.u16()?;\n        \
         let mut properties = Properties::default();\n",
    );
    for (at, property) in class.properties.iter().enumerate() {
        let (field, reader) = (property.field(), property.kind.reader());
        text.push_str(&format!("        if flags & 1 << {} != 0 {{\n", 15 - at));
        text.push_str(&format!("            properties.{field} = Some(reader.{reader}()?);\n        }}\n"));
    }
    text.push_str(
        "        reader.close()?;\n        Ok(properties)\n    }\n\n    \
         /// Appends flags and properties.\n    #[inline]\n    \
         pub fn encode(&self, out: &mut Vec<u8>) {\n        wire::put_u16(out, self.flags());\n",
    );
    for property in &class.properties {
        let (field, writer) = (property.field(), property.kind.writer());
        text.push_str(&format!("        if let Some({field}) = self.{field} {{\n"));
        text.push_str(&format!("            wire::{writer}(out, {field});\n        }}\n"));
    }
    text.push_str("    }\n\n    #[inline]\n    fn flags(&self) -> u16 {\n");
    for (at, property) in class.properties.iter().enumerate() {
        let (field, bit) = (property.field(), 15 - at);
        let line = format!("u16::from(self.{field}.is_some()) << {bit}");
        let text_line = if at == 0 { format!("        {line}\n") } else { format!("            | {line}\n") };
        text.push_str(&text_line);
    }
    text.push_str("    }\n}\n");
    text
}
