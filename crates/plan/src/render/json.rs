//! A sheet for programs: one JSON object, which `docs/plan.md` describes.

use serde_json::{Value, json};

use crate::formula::Formula;
use crate::limits::Fit;
use crate::quantity::Quantity;
use crate::sheet::{Line, Section, Sheet};

/// The version of the format.
const SCHEMA: u32 = 1;

/// The sheet as a JSON object, in lines.
#[must_use]
pub fn json(sheet: &Sheet) -> String {
    let sections: Vec<Value> = sheet.sections.iter().map(section).collect();
    let whole = json!({ "schema": SCHEMA, "fits": sheet.fits(), "sections": sections, "remarks": sheet.remarks });
    format!("{whole:#}\n")
}

fn section(section: &Section) -> Value {
    let lines: Vec<Value> = section.lines.iter().map(line).collect();
    json!({ "id": section.id, "title": section.title, "lines": lines })
}

fn line(line: &Line) -> Value {
    let inputs = line.formula.iter().flat_map(Formula::terms).map(quantity);
    json!({
        "id": line.id,
        "name": line.quantity.name,
        "value": line.quantity.value,
        "unit": line.quantity.unit.name(),
        "formula": line.formula.as_ref().map(Formula::in_names),
        "inputs": inputs.collect::<Vec<Value>>(),
        "source": line.source,
        "fit": line.fit.as_ref().map(fit),
    })
}

fn quantity(quantity: &Quantity) -> Value {
    json!({ "name": quantity.name, "value": quantity.value, "unit": quantity.unit.name() })
}

fn fit(fit: &Fit) -> Value {
    match fit {
        Fit::Known { limit, share } => json!({ "fits": !fit.is_too_much(), "limit": limit, "share": share }),
        Fit::Unknown { reason } => json!({ "fits": null, "reason": reason }),
    }
}
