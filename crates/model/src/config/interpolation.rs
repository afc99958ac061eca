//! `$(NAME)` in a file's value stands for an environment variable, wherever in the value it is.
//!
//! As in Cuttlefish: spaces around the name do not count, quotes around the value make no difference, and a `$(` that is
//! not closed stands for itself. A variable's own value is taken as it is: it may be a password.

/// The value with its variables put in, or the name of one that is not set.
pub(super) fn interpolate<'a>(value: &'a str, env: &[(String, String)]) -> Result<String, &'a str> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("$(") {
        let Some((name, behind)) = after.split_once(')') else { break };
        let name = name.trim();
        let (_, text) = env.iter().find(|(variable, _)| variable == name).ok_or(name)?;
        out.push_str(before);
        out.push_str(text);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Result<&str, &str>) {
        let env = [("PORT", "5673"), ("EMPTY", ""), ("SHELL_LIKE", "a$(PORT)b")];
        let env = env.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(interpolate(value, &env), expected.map(str::to_owned), "{value}");
    }

    #[test]
    fn variables_stand_anywhere_in_a_value() {
        check("$(PORT)", Ok("5673"));
        check("127.0.0.1:$( PORT )", Ok("127.0.0.1:5673"));
        check("$(PORT)-$(PORT)$(EMPTY).", Ok("5673-5673."));
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        check("$(PORT)$(NO_SUCH)", Err("NO_SUCH"));
        check("$()", Err(""));
    }

    #[test]
    fn anything_else_stands_for_itself() {
        for value in ["", "$", "$PORT", "${PORT}", "(PORT)", "$(PORT", "a$b)c"] {
            check(value, Ok(value));
        }
    }

    #[test]
    fn a_variables_value_is_not_looked_into() {
        check("$(SHELL_LIKE)", Ok("a$(PORT)b"));
    }
}
