//! Help: commands in groups, each with an example.

use clap::{Command, CommandFactory as _};

use super::Arguments;
use crate::output::terminal::{self, wrap};

/// Commands that new users need, in the order in which they meet them. The only ones in the short help.
const FIRST: (&str, &[&str]) =
    ("Commands", &["check", "explain", "compare", "diff", "why", "install", "serve", "console"]);
/// Groups of the other commands, which `foreword help --all` lists. A name without a command is skipped.
const GROUPS: &[(&str, &[&str])] = &[
    ("Files", &["show", "map", "profile", "init", "conformance", "lsp"]),
    ("Other agents", &["transcript", "sync", "mcp"]),
    ("Guards", &["guard"]),
    ("Skills", &["skill", "trust", "untrust"]),
    ("Documents", &["workspace", "folder", "thread", "doc", "events"]),
    ("Turns", &["turn", "prompt", "memory", "cost"]),
    ("Gateway", &["status", "doctor", "backup", "restore", "token", "audit"]),
    ("Settings", &["config", "help"]),
    ("Plumbing", &["resolve", "session", "watch", "hook", "schema", "man", "completions"]),
];

/// An example for every command. Words in capitals are placeholders.
const EXAMPLES: &[(&str, &str)] = &[
    ("show", "foreword show services/billing"),
    ("explain", "foreword explain --profile codex"),
    ("check", "foreword check --agent codex --agent claude-code"),
    ("compare", "foreword compare services --agent codex --agent claude-code"),
    ("map", "foreword map --agent codex --html map.html"),
    ("why", "foreword why 'Use pnpm, never npm.' --when 'npm install'"),
    ("transcript list", "foreword transcript list --agent codex"),
    ("transcript show", "foreword transcript show 01a1eb6b"),
    ("diff", "foreword diff main..HEAD --agent codex --fail-on lost"),
    ("guard list", "foreword guard list services"),
    ("guard test", "foreword guard test --command 'npm install'"),
    ("profile list", "foreword profile list"),
    ("profile show", "foreword profile show claude-code"),
    ("resolve", "foreword resolve --session work.json --cwd . src/main.rs"),
    ("session show", "foreword session show work.json"),
    ("session diff", "foreword session diff work.json --confirm"),
    ("watch", "foreword watch services"),
    ("hook", "foreword hook claude-code"),
    ("install", "foreword install claude-code --dry-run"),
    ("sync", "foreword sync --check"),
    ("mcp", "foreword mcp --allow-save"),
    ("skill list", "foreword skill list services"),
    ("skill show", "foreword skill show release"),
    ("skill check", "foreword skill check .agents/skills/release"),
    ("trust", "foreword trust ."),
    ("untrust", "foreword untrust .agents/skills/release"),
    ("init", "foreword init --name billing"),
    ("console", "foreword console --print"),
    ("serve", "foreword serve --listen 127.0.0.1:4670"),
    ("status", "foreword status --format json"),
    ("doctor", "foreword doctor"),
    ("backup", "foreword backup monday.db"),
    ("restore", "foreword restore monday.db --data new-data"),
    ("workspace create", "foreword workspace create demo --root ."),
    ("workspace list", "foreword workspace list --archived"),
    ("workspace get", "foreword workspace get demo"),
    ("workspace update", "foreword workspace update demo --name team"),
    ("workspace archive", "foreword workspace archive demo"),
    ("workspace restore", "foreword workspace restore demo"),
    ("folder create", "foreword folder create billing --parent services"),
    ("folder list", "foreword folder list"),
    ("folder get", "foreword folder get services/billing"),
    ("folder rename", "foreword folder rename services/billing invoices"),
    ("folder move", "foreword folder move services/billing /"),
    ("folder delete", "foreword folder delete services/billing"),
    ("folder deleted", "foreword folder deleted"),
    ("folder restore", "foreword folder restore services/billing"),
    ("thread create", "foreword thread create 'Fix the total' --folder services --mode agent"),
    ("thread tree", "foreword thread tree services --depth 2"),
    ("thread get", "foreword thread get 'Fix the total'"),
    ("thread rename", "foreword thread rename 'Fix the total' 'Fix the invoice total'"),
    ("thread move", "foreword thread move 'Fix the total' services/billing"),
    ("thread archive", "foreword thread archive 'Fix the total'"),
    ("thread history", "foreword thread history last"),
    ("thread session", "foreword thread session last"),
    ("doc get", "foreword doc get --folder services --version 2"),
    ("doc effective", "foreword doc effective --thread 'Fix the total'"),
    ("doc save", "foreword doc save AGENTS.md --folder services --expected-version 2 -m 'Name the tests'"),
    ("doc edit", "foreword doc edit --folder services"),
    ("doc drafts", "foreword doc drafts"),
    ("doc history", "foreword doc history --folder services --limit 10"),
    ("doc diff", "foreword doc diff 1 3 --folder services"),
    ("doc restore", "foreword doc restore 1 --folder services"),
    ("doc archive", "foreword doc archive --folder services"),
    ("turn start", "foreword turn start 'Fix the total' 'Where is the total computed?'"),
    ("turn list", "foreword turn list last"),
    ("turn show", "foreword turn show last"),
    ("turn explain", "foreword turn explain 2 --thread 'Fix the total'"),
    ("turn request", "foreword turn request last"),
    ("turn watch", "foreword turn watch last"),
    ("turn cancel", "foreword turn cancel last"),
    ("turn approve", "foreword turn approve last CALL --deny"),
    ("prompt show", "foreword prompt show last --section agents_md"),
    ("prompt sections", "foreword prompt sections --cwd services"),
    ("prompt manifest", "foreword prompt manifest last"),
    ("prompt diff", "foreword prompt diff last --since 1"),
    ("memory list", "foreword memory list --scope workspace"),
    ("memory add", "foreword memory add 'Releases are cut on Mondays' --category decision"),
    ("memory search", "foreword memory search release monday"),
    ("memory show", "foreword memory show ID"),
    ("memory forget", "foreword memory forget ID"),
    ("memory export", "foreword memory export > memory.json"),
    ("memory import", "foreword memory import memory.json"),
    ("token create", "foreword token create alice --role editor --expires '30 days'"),
    ("token list", "foreword token list"),
    ("token revoke", "foreword token revoke alice"),
    ("mcp status", "foreword mcp status"),
    ("audit", "foreword audit --since '7 days'"),
    ("events", "foreword events --since 0"),
    ("schema", "foreword schema > foreword.schema.json"),
    ("config", "foreword config"),
    ("config get", "foreword config get agents.profile"),
    ("config set", "foreword config set agents.profile codex"),
    ("man", "foreword man ~/.local/share/man/man1"),
    ("completions", "foreword completions bash > ~/.local/share/bash-completion/completions/foreword"),
];

const MORE: &str =
    "`foreword help --all` lists all commands, and `foreword COMMAND --help` shows an example for each.";
const MORE_OF_ALL: &str = "`foreword COMMAND --help` shows an example for each command, and `foreword man DIR` writes manual \
                           pages. See README.md and docs/ in the source for more.";

/// Extent of the list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelpExtent {
    /// The commands that new users need.
    First,
    All,
}

/// Maximum width of help in columns.
const MAX_COLUMNS: usize = 100;

/// Returns the command line with its short help.
pub(crate) fn command() -> Command {
    with_help(HelpExtent::First)
}

/// Returns the command line with help about these commands.
pub(crate) fn with_help(extent: HelpExtent) -> Command {
    let mut command = with_examples(Arguments::command(), "");
    // clap adds the `help` subcommand only when it builds the command, and the template lists it.
    command.build();
    let template = template(&command, extent);
    with_examples(Arguments::command(), "").help_template(template).term_width(columns())
}

fn columns() -> usize {
    terminal::columns().map_or(MAX_COLUMNS, |columns| columns.min(MAX_COLUMNS))
}

fn with_examples(command: Command, path: &str) -> Command {
    let example = EXAMPLES.iter().find(|(name, _)| *name == path).map(|(_, example)| *example);
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    // A command group shows the example of its first subcommand.
    let below = || {
        let first = names.first().filter(|_| !path.is_empty())?;
        let first = format!("{path} {first}");
        EXAMPLES.iter().find(|(name, _)| *name == first).map(|(_, example)| *example)
    };
    let header = *command.get_styles().get_header();
    let mut command = match example.or_else(below) {
        Some(example) => command.after_help(format!("{header}Example:{header:#}\n  {example}")),
        None => command,
    };
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |command| with_examples(command, &path));
    }
    command
}

/// Returns the help template with group headings, which clap only supports for options.
fn template(command: &Command, extent: HelpExtent) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let columns = Some(columns());
    let width = command.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let (others, more): (&[_], _) = match extent {
        HelpExtent::First => (&[], MORE),
        HelpExtent::All => (GROUPS, MORE_OF_ALL),
    };
    for (heading, names) in std::iter::once(&FIRST).chain(others) {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for name in *names {
            let Some(found) = command.find_subcommand(name) else { continue };
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let padding = " ".repeat(width - name.len());
            let line = format!("  {literal}{name}{literal:#}{padding}  {about}");
            text.push_str(&wrap(&line, columns, width + 4));
            text.push('\n');
        }
    }
    text.push_str(&format!("\n{header}Options:{header:#}\n{{options}}\n\n{}\n", wrap(more, columns, 0)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the paths of all runnable commands.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{path} {}", below.get_name()).trim_start().to_owned();
            leaves(below, &path, found);
            // `mcp` can also run without a subcommand.
            if below.get_subcommands().next().is_none() || !below.is_subcommand_required_set() {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_command_has_exactly_one_example() {
        let mut commands = Vec::new();
        leaves(&Arguments::command(), "", &mut commands);
        let mut examples: Vec<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
        commands.sort();
        examples.sort();
        assert_eq!(commands, examples);
    }

    #[test]
    fn every_example_parses() {
        for (name, example) in EXAMPLES {
            // Redirections belong to the shell, not to the command line.
            let line = example.split(" > ").next().unwrap();
            // Splitting at single quotes is enough, because the examples use no other quoting.
            let words: Vec<&str> = line
                .split('\'')
                .enumerate()
                .flat_map(
                    |(index, part)| {
                        if index % 2 == 0 { part.split_whitespace().collect() } else { vec![part] }
                    },
                )
                .collect();
            assert!(words[1..].join(" ").starts_with(name), "{example} is not an example of {name}");
            if let Err(error) = Arguments::command().try_get_matches_from(&words) {
                panic!("{example}: {error}");
            }
        }
    }

    #[test]
    fn short_help_has_at_most_eight_commands() {
        let help = command().render_help().to_string();
        let all = with_help(HelpExtent::All).render_help().to_string();
        let listed =
            |help: &str, name: &str| help.lines().any(|line| line.starts_with(&format!("  {name} ")));
        assert!(listed(&help, "check") && !listed(&help, "resolve") && !listed(&help, "thread"), "{help}");
        assert!(FIRST.1.len() == 8 && help.contains("help --all"), "{help}");
        for name in Arguments::command().get_subcommands().map(Command::get_name) {
            assert!(listed(&all, name), "{name}: {all}");
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Arguments::command();
        command.build();
        let mut commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let groups = std::iter::once(&FIRST).chain(GROUPS);
        let mut grouped: Vec<&str> = groups.flat_map(|(_, names)| *names).copied().collect();
        grouped.retain(|name| commands.contains(name));
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(commands, grouped);
    }
}
