//! `foreword check`: finds problems in the instruction files of a tree.

mod baseline;

use std::collections::BTreeSet;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use check::{
    CheckError, CheckPolicy, CheckReport, CheckRequest, CoverageTime, FileCoverage, FindingGroup, FixedFile,
    PolicyError, RuleChoice, RuleId, Severity,
};
use compare::{DefaultAgents, grouped};
use instructions::Request;

use super::explain::paint;
use crate::arguments::Check;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::count;
use crate::output::progress::Progress;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{self, wrap};
use crate::output::{Format, plain, print, shown_path, table};

pub(crate) fn run(context: &Context, arguments: &Check) -> Result<Exit, Failure> {
    let directory = directory(arguments.path.as_deref())?;
    let mut report = examine(context, arguments, &directory)?;
    note_default_agents(context, arguments, &report);
    if arguments.fix {
        let (fixed, errors) = check::fix(&report);
        for FixedFile { path, rules } in &fixed {
            context.output.note(format!("fixed {}: {}", shown_path(path), rules.join(", ")));
        }
        // Fixes move lines and resolve findings, so the old report no longer describes the files.
        if !fixed.is_empty() {
            report = examine(context, arguments, &directory)?;
        }
        // Fixes that succeeded remain even if another one failed, so they have been reported first.
        if let Some(error) = errors.first() {
            return Err(Failure::new(Exit::Failed, plain(error.to_string())));
        }
    }
    for note in &report.notes {
        context.output.warning(&plain(note), None);
    }
    if let Some(file) = &arguments.write_baseline {
        return baseline::write(context, &report, file);
    }
    if let Some(file) = &arguments.baseline {
        baseline::apply(context, &mut report, file)?;
    }
    match arguments.format {
        Format::Json => context.output.json(&check::format::json(&report))?,
        Format::Sarif => context.output.json(&check::format::sarif(&report, env!("CARGO_PKG_VERSION")))?,
        Format::Github => print(&check::format::github(&report, &base(&report)))?,
        Format::Text | Format::Markdown => print(&text(&report))?,
    };
    let least = if arguments.strict { Severity::Warning } else { Severity::Error };
    let is_wrong = report.findings.iter().any(|finding| finding.severity >= least);
    Ok(if is_wrong { Exit::CheckFailed } else { Exit::Done })
}

fn examine(context: &Context, arguments: &Check, directory: &Path) -> Result<CheckReport, Failure> {
    let files = Files::new(context)?;
    let sections = context.configuration.sections();
    let mut agents = arguments.agents.clone();
    if agents.is_empty() && sections.check.agents.is_empty() {
        agents =
            default_agents(&files, directory)?.agents.iter().map(|agent| agent.name.to_owned()).collect();
    }
    let choice = RuleChoice { select: arguments.select.clone(), ignore: arguments.ignore.clone() };
    let policy = CheckPolicy::new(&sections.check, &agents)
        .and_then(|policy| policy.choose(&choice))
        .map_err(|error| wrong_policy(context, &error))?;
    let _progress = Progress::start(context.output, "checking the files");
    check::check(CheckRequest { directory, config: &files.settings.agents, policy }).map_err(|error| {
        match error {
            CheckError::Resolve(error) => files.failure(&error),
            CheckError::Tree(error) => Failure::usage(error.to_string()),
        }
    })
}

/// Names the checked agents if the user named none. Formats for programs have them in the data.
fn note_default_agents(context: &Context, arguments: &Check, report: &CheckReport) {
    let is_named = !arguments.agents.is_empty() || !context.configuration.sections().check.agents.is_empty();
    if arguments.format == Format::Text && !is_named && !report.files.is_empty() {
        let agents = report.agents.join(", ");
        context.output.note(format!("checked for {agents}; `--agent NAME` checks for others"));
    }
}

/// Returns the agents of a command that names none.
pub(crate) fn default_agents(files: &Files, directory: &Path) -> Result<DefaultAgents, Failure> {
    let request = Request { cwd: directory, settings: &files.settings };
    let resolution = instructions::survey(&request).map_err(|error| files.failure(&error))?;
    Ok(compare::default_agents(&resolution, &files.settings))
}

pub(super) fn wrong_policy(context: &Context, error: &PolicyError) -> Failure {
    let origin = match error {
        PolicyError::Rule { setting, .. } if setting.starts_with("--") => None,
        PolicyError::Rule { setting, .. } => context.configuration.origin(setting).source(),
        PolicyError::Ignore(_) => context.configuration.origin("check.ignore").source(),
        PolicyError::Twice { .. } | PolicyError::Agent(_) => None,
    };
    let origin = origin.map_or_else(String::new, |origin| format!(", from {origin}"));
    Failure::usage(format!("{error}{origin}")).hint(error.hint())
}

/// Returns the base of GitHub's paths: the checkout, which is usually the project root.
fn base(report: &CheckReport) -> std::path::PathBuf {
    let checkout = std::env::var_os("GITHUB_WORKSPACE").filter(|path| !path.is_empty());
    let checkout = checkout.map(std::path::PathBuf::from).filter(|path| report.root.starts_with(path));
    checkout.unwrap_or_else(|| report.root.clone())
}

/// Formats the findings, one per line, the pages of their rules, the coverage table and a summary line.
fn text(report: &CheckReport) -> String {
    let viewpoint = Viewpoint::at(&report.root);
    let screen = terminal::columns();
    let mut text = String::new();
    for group in report.groups() {
        text.push_str(&format!("{}\n", wrap(&line(&group, viewpoint), screen, INDENT)));
    }
    let rules: BTreeSet<RuleId> = report.findings.iter().map(|finding| finding.rule).collect();
    if !rules.is_empty() {
        text.push_str("\nRules:\n");
    }
    for rule in rules {
        let rule = rule.rule();
        text.push_str(&format!("  {} {}  {}\n", rule.code, rule.name, rule.url()));
    }
    if !report.files.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{}", coverage(&report.files, viewpoint)));
    }
    let gap = if text.is_empty() { "" } else { "\n" };
    text.push_str(&format!("{gap}{}\n", wrap(&summary(report), screen, 0)));
    text
}

/// Indentation of wrapped messages.
const INDENT: usize = 4;
/// Most further files named in a line.
const NAMED: usize = 5;

/// Formats findings as `path:line: severity CODE name: message`, which editors and terminals turn into a link.
fn line(group: &FindingGroup<'_>, viewpoint: Viewpoint<'_>) -> String {
    let finding = group.first;
    let (word, style) = match finding.severity {
        Severity::Error => ("error", AnsiColor::Red.on_default()),
        Severity::Warning => ("warning", AnsiColor::Yellow.on_default()),
        Severity::Info => ("info", Style::new().dimmed()),
    };
    let place = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    let mark = if finding.fixable { " (`--fix` repairs it)" } else { "" };
    let rule = finding.rule();
    let mut others: Vec<String> =
        group.others.iter().take(NAMED).map(|other| viewpoint.path(&other.path)).collect();
    if group.others.len() > NAMED {
        others.push(format!("{} more", group.others.len() - NAMED));
    }
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; the same in {}", compare::joined(&others, "and")),
    };
    format!(
        "{}{place}: {} {} {}: {}{mark}{others}",
        viewpoint.path(&finding.path),
        paint(style, word),
        rule.code,
        rule.name,
        plain(&finding.message)
    )
}

fn coverage(files: &[FileCoverage], viewpoint: Viewpoint<'_>) -> String {
    let rows = files.iter().map(|file| {
        let readers = file.agents.iter().filter_map(|reader| match reader.when {
            CoverageTime::Start => Some(reader.agent.to_owned()),
            CoverageTime::Matching => Some(format!("{} (when it matches)", reader.agent)),
            CoverageTime::Never => None,
        });
        let readers: Vec<String> = readers.collect();
        let losses = file.agents.iter().filter(|reader| reader.lost_bytes > 0);
        let losses: Vec<String> =
            losses.map(|reader| format!("{} {}", reader.agent, count(reader.lost_bytes, "byte"))).collect();
        let readers = if readers.is_empty() { "no agent".to_owned() } else { readers.join(", ") };
        vec![viewpoint.path(&file.path), grouped(file.bytes), readers, losses.join(", ")]
    });
    table(&["file", "bytes", "read by", "loses"], rows)
}

fn summary(report: &CheckReport) -> String {
    if report.files.is_empty() && report.findings.is_empty() {
        return "no instruction files found".to_owned();
    }
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(severity, _)| report.count(*severity) > 0)
        .map(|(severity, noun)| count(report.count(*severity) as u64, noun))
        .collect();
    let found = if counts.is_empty() { "no problems".to_owned() } else { counts.join(", ") };
    let fixable = report.findings.iter().filter(|finding| finding.fixable).count();
    let fixable = match fixable {
        0 => String::new(),
        number => format!("; `foreword check --fix` fixes {number}"),
    };
    let suppressed = match report.suppressed {
        0 => String::new(),
        number => format!("; {number} suppressed by comments"),
    };
    let files = count(report.files.len() as u64, "file");
    format!("{found} in {files}, for {}{fixable}{suppressed}", count(report.agents.len() as u64, "agent"))
}
