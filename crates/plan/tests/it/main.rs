//! The arithmetic from outside: against examples worked by hand, against the bytes that the house's codec writes, and against what
//! more of anything must do.

#![allow(clippy::unwrap_used, reason = "a test may, and so may what it calls")]

mod documentation;
mod examples;
mod framing;
mod json;
mod monotony;
mod sources;

use plan::limits::Gaps;
use plan::setting::{SETTINGS, Setting};
use plan::sheet::Sheet;
use plan::workload::{Description, Origin};

fn setting(name: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.name == name).unwrap_or_else(|| panic!("no setting {name}"))
}

fn described(said: &[(&str, &str)]) -> Description {
    let mut description = Description::default();
    for (name, text) in said {
        description.read(setting(name), text, Origin::Option).unwrap();
    }
    description
}

fn planned(said: &[(&str, &str)]) -> Sheet {
    plan::arithmetic::plan(&described(said).resolve().unwrap(), &Gaps::new())
}
