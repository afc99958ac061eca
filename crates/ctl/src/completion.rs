//! What shells complete commands with: made of the table of commands.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::command::{Command, Grammar};
use crate::options::{self, ADMIN_OPTIONS, CTL_OPTIONS};
use crate::words;

/// The commands of the program that this one is a part of: the first word, which shells complete, too.
pub const PROGRAM_COMMANDS: &[&str] = &[
    "ctl", "diagnose", "fsck", "help", "migrate", "perf", "ping", "plan", "profile", "proxy", "serve", "top", "trace",
];

/// A shell's script.
pub(crate) fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

/// Every name of every command, and what may stand after it.
fn names() -> BTreeMap<&'static str, (Grammar, &'static Command)> {
    let named =
        |(grammar, command): (Grammar, &'static Command)| command.names().map(move |name| (name, (grammar, command)));
    words::commands().flat_map(named).collect()
}

/// The first words, and the second words of those that have some.
fn words_by_place() -> (Vec<&'static str>, BTreeMap<&'static str, Vec<&'static str>>) {
    let mut first: Vec<&str> = Vec::new();
    let mut second: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names().into_keys() {
        let (verb, object) = name.split_once(' ').map_or((name, None), |(verb, object)| (verb, Some(object)));
        if first.last() != Some(&verb) && !first.contains(&verb) {
            first.push(verb);
        }
        second.entry(verb).or_default().extend(object);
    }
    second.retain(|_, objects| !objects.is_empty());
    (first, second)
}

fn long_options(grammar: Grammar, command: &Command) -> Vec<String> {
    let own = command.options.iter().chain(options::of(grammar)).map(|option| option.long);
    let arguments = command.arguments.iter().map(|argument| argument.name).filter(|_| grammar == Grammar::Admin);
    let mut options: Vec<String> = arguments.chain(own).map(|name| format!("--{name}")).collect();
    options.sort();
    options.dedup();
    options
}

/// Candidates by what stands before: nothing, a first word, or a whole command.
fn cases() -> String {
    let (first, second) = words_by_place();
    let mut out = format!("        '') echo '{}' ;;\n", first.join(" "));
    for (name, (grammar, command)) in names() {
        let objects = second.get(name).map_or(String::new(), |objects| format!("{} ", objects.join(" ")));
        let _ = writeln!(out, "        '{name}') echo '{objects}{}' ;;", long_options(grammar, command).join(" "));
    }
    for (verb, objects) in second.iter().filter(|(verb, _)| !names().contains_key(*verb)) {
        let _ = writeln!(out, "        '{verb}') echo '{}' ;;", objects.join(" "));
    }
    out
}

/// A function that prints the candidates for the words that follow `warren ctl`, options left out.
fn candidates() -> String {
    format!("_warren_ctl_candidates() {{\n    case \"$1\" in\n{}    esac\n}}\n", cases())
}

/// The options that may stand before a command and whose value is the next word.
fn valued_options() -> Vec<String> {
    let valued = CTL_OPTIONS.iter().chain(ADMIN_OPTIONS).filter(|option| option.takes_value());
    let mut options: Vec<String> = valued
        .flat_map(|option| {
            let long = std::iter::once(&option.long).chain(option.aliases).map(|name| format!("--{name}"));
            long.chain((!option.short.is_empty()).then(|| format!("-{}", option.short)))
        })
        .collect();
    options.sort();
    options.dedup();
    options
}

/// Finds the command among the words. Shells count words from 0 or from 1.
fn finder(words: &str, first: &str) -> String {
    format!(
        "    local name='' word both at\n    for ((at = {first}; at < position; at++)); do\n        word=${{{words}[at]}}\n        \
         case $word in\n            {}) ((at++)); continue ;;\n            -*) continue ;;\n        \
         esac\n        if [ -z \"$name\" ]; then name=$word; continue; fi\n        \
         both=\"$name $word\"\n        if [ -n \"$(_warren_ctl_candidates \"$both\")\" ]; then name=$both; fi\n        break\n    done\n",
        valued_options().join("|")
    )
}

fn bash() -> String {
    format!(
        "# Completes warren ctl. In ~/.bashrc:  source <(warren ctl completion bash)\n{}_warren_ctl() {{\n    \
         local current=${{COMP_WORDS[COMP_CWORD]}} position=$COMP_CWORD\n    COMPREPLY=()\n    \
         if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '{}' -- \"$current\")); return; fi\n    \
         [ \"${{COMP_WORDS[1]}}\" = ctl ] || return\n{}    \
         COMPREPLY=($(compgen -W \"$(_warren_ctl_candidates \"$name\")\" -- \"$current\"))\n}}\n\
         complete -o default -F _warren_ctl warren\n",
        candidates(),
        PROGRAM_COMMANDS.join(" "),
        finder("COMP_WORDS", "2")
    )
}

fn zsh() -> String {
    format!(
        "#compdef warren\n# Completes warren ctl. In ~/.zshrc, after compinit:  source <(warren ctl completion zsh)\n\
         {}_warren_ctl() {{\n    \
         local position=$CURRENT\n    if (( CURRENT == 2 )); then compadd {}; return; fi\n    \
         [[ ${{words[2]}} == ctl ]] || {{ _files; return }}\n{}    \
         compadd -- ${{=$(_warren_ctl_candidates \"$name\")}}\n}}\n\
         # As a file of a folder for completions it is called once it is loaded.\n\
         if [[ ${{funcstack[1]}} == _warren ]]; then _warren_ctl \"$@\"; else compdef _warren_ctl warren; fi\n",
        candidates(),
        PROGRAM_COMMANDS.join(" "),
        finder("words", "3")
    )
}

fn fish() -> String {
    let mut out = format!(
        "# Completes warren ctl. In ~/.config/fish/completions/warren.fish, or:  warren ctl completion fish | source\n\
         function __warren_ctl_words\n    \
         set -l is_value 0\n    \
         for word in (commandline -opc)\n        \
         if test $is_value = 1; set is_value 0; continue; end\n        \
         if contains -- $word {}; set is_value 1; continue; end\n        \
         string match -q -- '-*' $word; or echo $word\n    \
         end\nend\n\
         function __warren_ctl_said\n    \
         set -l said (__warren_ctl_words)\n    \
         test (count $said) -ge 2; and test $said[2] = ctl; and test \"$said[3..]\" = \"$argv\"\nend\n\
         function __warren_ctl_after\n    \
         set -l said (__warren_ctl_words)\n    \
         test (count $said) -ge 2; and test $said[2] = ctl; and string match -q -- \"$argv *\" \"$said[3..] \"\nend\n\
         complete -c warren -n 'test (count (commandline -opc)) -eq 1' -f -a '{}'\n",
        valued_options().join(" "),
        PROGRAM_COMMANDS.join(" ")
    );
    let (first, second) = words_by_place();
    let _ = writeln!(out, "complete -c warren -n '__warren_ctl_said' -f -a '{}'", first.join(" "));
    for (verb, objects) in &second {
        let _ = writeln!(out, "complete -c warren -n '__warren_ctl_said {verb}' -f -a '{}'", objects.join(" "));
    }
    for (name, (grammar, command)) in names() {
        for option in long_options(grammar, command) {
            let _ = writeln!(
                out,
                "complete -c warren -n '__warren_ctl_after {name}' -l {}",
                option.trim_start_matches('-')
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in ["bash", "zsh", "fish"] {
            let script = script(shell).unwrap();
            for name in names().into_keys() {
                assert!(name.split(' ').all(|word| script.contains(word)), "{shell} does not know {name}");
            }
            assert!(script.contains("ctl diagnose fsck"), "{shell} does not know what else the program does");
        }
        assert!(script("tcsh").is_none());
    }
}
