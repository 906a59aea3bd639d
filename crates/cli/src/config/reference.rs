//! The page `docs/configuration.md`, generated from the settings table by the test that keeps it up to date.

use std::fmt::Write as _;

use super::key::{Key, ProjectRule};
use super::table::KEYS;
use super::value::Kind;
use super::variable::{PROCESS_VARIABLES, VariableName};

const INTRODUCTION: &str = r#"# Configuration

<!-- Written from the table in crates/cli/src/config/table.rs; regenerate: UPDATE_DOCS=1 cargo test -p foreword reference -->

Foreword works without any configuration. This command shows every setting with its value and its origin, also with `--format json`:

```console
$ foreword config
```

The shortest way to try a setting is a variable in front of a command:

```console
$ FOREWORD_AGENTS_PROFILE=codex foreword config
```

## Sources

From lowest to highest priority. A higher source replaces the whole value, including lists.

| source | location |
| --- | --- |
| built-in | the defaults in the tables below |
| system | `/etc/foreword/config.toml` |
| user | `config.toml` in your configuration directory (`~/.config/foreword` on Linux), or the file of `--config FILE` instead |
| project | `.foreword/config.toml` at the project's root: the nearest directory, upward from the working directory, with `.foreword`, `.git`, `.jj` or `.hg` |
| environment | variables that start with `FOREWORD_`; above them the variables of the chosen agent |
| flags | flags of the command |

Missing files are skipped, except the one named by `--config`. An unknown key, a wrong type or invalid TOML is an error that names the file,
the line and the likely intention. An unknown `FOREWORD_…` variable only causes a warning.

## Examples

Your own file, `~/.config/foreword/config.toml`:

```toml
[gateway]
listen = "127.0.0.1:4700"
database = "postgres://foreword@db.example/foreword"

[agents]
fallback_filenames = ["CLAUDE.md"]

[agents.initial]
max_bytes = 65536

[model]
default = "local/qwen3-coder"

[providers.local]
kind = "openai_compatible"
base_url = "http://127.0.0.1:11434/v1"
```

A project's file, `.foreword/config.toml`:

```toml project
[agents]
profile = "codex"

[agents.resolver]
delivery = "inline"
max_files_per_resolve = 4
```

In the environment, lists are separated by commas (`,` alone is the empty list), switches are `true` or `false` (also `1`/`0`, `yes`/`no`,
`on`/`off`), and an empty variable counts as unset:

```console
$ export FOREWORD_AGENTS_MARKERS=.git,.hg
```

A relative path is relative to the directory of its file; in a variable or a flag, to the working directory. Passwords in URLs are never
shown.

`NAME` in a key is a name that you choose, of letters, digits, `_` and `-`: models of `[providers.local]` are called `local/…`. The providers
`anthropic` and `openai` are built in and read the usual variables `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `OPENAI_API_KEY` and
`OPENAI_BASE_URL`; a table of that name overrides them. A configuration file never contains the key of a provider, only the name of the gateway's
variable or the file with the key. [turns.md](turns.md#keys) has the details.

Another agent's profile may read variables of that agent, with priority over ours but not over flags; they are listed
[below](#variables-of-other-agents).

## Settings of a project

A cloned repository must not give itself more access. Its file may set the keys marked **free**, and may lower, never raise, those marked
**lower only**: the number must not exceed the one without the project's file, by default the profile's own limit. Any other key is an error,
with a hint about the right place for it.

## Settings
"#;

/// Returns the whole page in Markdown.
pub(crate) fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut section = "";
    for key in KEYS {
        let (name, _) = key.path.split_once('.').unwrap_or_default();
        if name != section {
            section = name;
            let _ = write!(
                page,
                "\n### {name}\n\n| key | effect | type | default | variable | project |\n\
                 | --- | --- | --- | --- | --- | --- |\n"
            );
        }
        let _ = writeln!(page, "{}", row(key));
    }
    page.push_str("\n## Variables of other agents\n");
    for profile in instructions::PROFILES {
        agent_variables(&mut page, profile);
    }
    page.push_str("\n## Other variables\n\nThese variables are not settings.\n\n");
    page.push_str("| variable | effect |\n| --- | --- |\n");
    for variable in PROCESS_VARIABLES {
        let name = match variable.name {
            VariableName::Exact(name) => name.to_owned(),
            VariableName::Prefix(prefix) => format!("{prefix}…"),
        };
        let _ = writeln!(page, "| `{name}` | {} |", variable.documentation);
    }
    page
}

/// Adds the variables that only one profile reads, if it has any.
fn agent_variables(page: &mut String, profile: &instructions::Profile) {
    let mut rows = KEYS
        .iter()
        .filter_map(|key| {
            key.agent_variable(profile.search.variable_prefix)
                .map(|name| format!("| `{name}` | `{}` |", key.path))
        })
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ =
        write!(page, "\nRead with the profile `{}`.\n\n| variable | sets |\n| --- | --- |\n", profile.name);
    rows.for_each(|row| {
        let _ = writeln!(page, "{row}");
    });
}

fn row(key: &Key) -> String {
    let default = match key.built_in() {
        Some(value) => format!("`{}`", key.kind().shown(&value)),
        None => key.otherwise.to_owned(),
    };
    format!(
        "| `{}` | {} | {} | {default} | {} | {} |",
        key.path,
        key.documentation,
        kind(key.kind()),
        key.variable().map_or_else(|| "none".to_owned(), |name| format!("`{name}`")),
        project(key.project)
    )
}

fn project(rule: ProjectRule) -> &'static str {
    match rule {
        ProjectRule::Free => "free",
        ProjectRule::LowerOnly(_) => "lower only",
        ProjectRule::No => "no",
    }
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Url => "URL".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::Switch => "boolean".to_owned(),
        Kind::NonNegative => "integer ≥ 0".to_owned(),
        Kind::Positive => "integer ≥ 1".to_owned(),
        Kind::List => "list of strings".to_owned(),
        Kind::Paths => "list of paths".to_owned(),
        Kind::Model => "`provider/model`".to_owned(),
        Kind::Period => "time such as `\"30 days\"`, or `\"forever\"`".to_owned(),
        Kind::Variable => "name of a variable".to_owned(),
        Kind::Headers => "table of strings".to_owned(),
        Kind::Words(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            quoted.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixture::Fixture;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");

    #[test]
    fn every_key_is_documented_and_has_a_valid_default() {
        for key in KEYS {
            assert!(key.documentation.ends_with('.'), "{}: documentation is a sentence", key.path);
            assert!(
                !key.documentation.contains(['\n', '|']),
                "{}: documentation fits a table cell",
                key.path
            );
            assert!(key.path.contains('.'), "{}: every key is in a section", key.path);
            if let Some(value) = key.built_in() {
                assert_eq!(key.kind().check(value.clone()), Ok(value), "{}: default fits the kind", key.path);
            }
        }
    }

    #[test]
    fn no_key_appears_twice() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..index].iter().all(|other| other.path != key.path), "{}", key.path);
        }
    }

    #[test]
    fn the_page_is_up_to_date() {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, markdown()).unwrap();
        }
        // Git may have checked the page out with CRLF line endings.
        let page = std::fs::read_to_string(PAGE).unwrap_or_default().replace("\r\n", "\n");
        assert!(
            page == markdown(),
            "docs/configuration.md is out of date; run: UPDATE_DOCS=1 cargo test -p foreword reference"
        );
    }

    #[test]
    fn the_examples_of_the_page_are_valid() {
        let page = markdown();
        let examples: Vec<&str> = page
            .split("```toml")
            .skip(1)
            .filter_map(|rest| rest.split_once('\n')?.1.split("```").next())
            .collect();
        let [user, project] = examples[..] else { panic!("the page has two examples") };
        let mut fixture = Fixture::new();
        fixture.user(user);
        fixture.project(project);
        let (configuration, warnings) = fixture.load().unwrap();
        assert_eq!(warnings, []);
        assert_eq!(configuration.sections().files.max_files_per_resolve(), 4);
        assert_eq!(configuration.sections().files.agents.initial.max_bytes, Some(65_536));
    }
}
