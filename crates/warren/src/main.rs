//! warren
fn main() {}
