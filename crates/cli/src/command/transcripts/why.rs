//! `foreword why`: why an agent ignored a rule.

use std::path::Path;

use instructions::FileSettings;
use mcp_server::WhyAsked;
use protocol::method::{TranscriptWhy, TranscriptWhyParams};
use protocol::{Timestamp, Verdict, WhyReport};
use transcripts::{AGENTS, Search, SessionChoice, TranscriptAgent, WhyRequest};

use super::words::{Detail, report_text};
use crate::arguments::{InWorkspace, Why};
use crate::context::{Context, find_thread};
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::print;
use crate::output::progress::Progress;

/// Name of the gateway's own threads.
const THREADS: &str = "foreword";

pub(crate) async fn run(context: &Context, arguments: &Why) -> Result<Exit, Failure> {
    let cwd = directory(arguments.path.as_deref())?;
    if !cwd.is_dir() {
        return Err(Failure::usage(format!("{} is not a directory", cwd.display()))
            .hint("name a directory in the project"));
    }
    let files = Files::new(context)?;
    let (threads, agents): (Vec<String>, Vec<String>) =
        arguments.agents.iter().cloned().partition(|name| name == THREADS);
    let mut report = match (threads.is_empty(), agents.is_empty()) {
        (false, true) => of_thread(context, arguments).await?,
        (true, _) => of_agents(context, arguments, &files, &agents, &cwd)?,
        (false, false) => {
            let mut report = of_agents(context, arguments, &files, &agents, &cwd)?;
            report.sessions.extend(of_thread(context, arguments).await?.sessions);
            report
        }
    };
    if arguments.redact {
        redact(&mut report, files.settings.homes.user(), arguments.when.as_deref());
    }
    if context.output.is_json() {
        context.output.json(&report)?;
    } else {
        let detail = if context.verbose > 0 { Detail::Evidence } else { Detail::Answer };
        print(&report_text(&report, &transcripts::project_root(&cwd), detail))?;
    }
    if report.sessions.is_empty() {
        let hint = "agents leave a transcript of each session; `foreword transcript list /` shows those of all projects";
        context.output.warning("no session of an agent was found in this project", Some(hint));
        return Ok(Exit::CheckFailed);
    }
    let all = report.sessions.iter().all(|session| session.verdict == Verdict::Delivered);
    Ok(if all { Exit::Done } else { Exit::CheckFailed })
}

/// Judges a thread of the gateway.
async fn of_thread(context: &Context, arguments: &Why) -> Result<WhyReport, Failure> {
    let client = context.connect().await?;
    let workspace_id = context.workspace(&client, &InWorkspace { workspace: None }).await?.id;
    let named = arguments.session.as_deref().unwrap_or("last");
    let thread_id = find_thread(&client, &workspace_id, named).await?;
    let (rule, when) = (arguments.rule.clone(), arguments.when.clone());
    Ok(client.call::<TranscriptWhy>(&TranscriptWhyParams { workspace_id, thread_id, rule, when }).await?)
}

/// Judges sessions of agents on this machine.
fn of_agents(
    context: &Context,
    arguments: &Why,
    files: &Files,
    agents: &[String],
    cwd: &Path,
) -> Result<WhyReport, Failure> {
    let agents = super::named_agents(agents)?;
    let search = arguments.when.as_deref().map(Search::parse).transpose().map_err(|error| {
        Failure::usage(error.to_string()).hint("give words of the command or answer, or /EXPRESSION/")
    })?;
    let sessions = match arguments.session.as_deref() {
        None => SessionChoice::NewestOfEach,
        Some("last") => SessionChoice::Last,
        Some("all") => SessionChoice::All,
        Some(id) => SessionChoice::Id(id),
    };
    let homes = super::homes(&files.settings);
    let cache = super::cache();
    let progress = Progress::start(context.output, "reading the transcripts");
    let answer = transcripts::why(&WhyRequest {
        rule: &arguments.rule,
        cwd,
        agents: &agents,
        sessions,
        search: search.as_ref(),
        since: arguments.since.map(|since| since.from(Timestamp::now())),
        homes: &homes,
        settings: &files.settings,
        cache: cache.as_deref(),
    });
    drop(progress);
    let answer = answer.map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))?;
    super::warn(context, &answer.problems);
    Ok(answer.report)
}

/// Answers a question of an agent: its own newest session if it can be recognized, otherwise the newest of each agent.
pub(crate) fn answer(settings: &FileSettings, cwd: &Path, asked: &WhyAsked) -> Result<WhyReport, Failure> {
    let client = asked.client.to_lowercase();
    let own: Vec<TranscriptAgent> =
        AGENTS.iter().copied().filter(|agent| client.contains(&agent.name().replace("-cli", ""))).collect();
    let search = asked.when.as_deref().map(Search::parse).transpose();
    let search = search.map_err(|error| Failure::usage(error.to_string()))?;
    let homes = super::homes(settings);
    let cache = super::cache();
    let answer = transcripts::why(&WhyRequest {
        rule: &asked.rule,
        cwd,
        agents: if own.is_empty() { AGENTS } else { &own },
        sessions: SessionChoice::NewestOfEach,
        search: search.as_ref(),
        since: None,
        homes: &homes,
        settings,
        cache: cache.as_deref(),
    });
    Ok(answer.map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))?.report)
}

/// Removes everything that a report to strangers does not need.
fn redact(report: &mut WhyReport, user: Option<&Path>, when: Option<&str>) {
    let shorten = |path: &mut String| {
        if let Some(user) = user
            && let Ok(below) = Path::new(path.as_str()).strip_prefix(user)
        {
            *path = format!("~/{}", below.display());
        }
    };
    // Directories can have the names of customers, so only the parts in the project remain.
    for session in &mut report.sessions {
        let cwd = std::mem::take(&mut session.cwd);
        let within = |path: &mut String| {
            match Path::new(path.as_str()).strip_prefix(&cwd) {
                Ok(below) if !cwd.is_empty() => *path = below.display().to_string(),
                _ => shorten(path),
            };
        };
        session.title = None;
        session.deliveries.iter_mut().for_each(|delivery| within(&mut delivery.path));
        if let Some(violation) = &mut session.violation {
            violation.text = when.unwrap_or("[redacted]").to_owned();
        }
        if let Some(reason) = &mut session.reason
            && !cwd.is_empty()
        {
            *reason = reason.replace(&cwd, "the directory");
        }
        session.diff = session.diff.take().map(|_| "[redacted]".to_owned());
    }
    if let Ok(here) = std::env::current_dir()
        && let Ok(below) = Path::new(&report.rule.path).strip_prefix(transcripts::project_root(&here))
    {
        report.rule.path = below.display().to_string();
    }
    shorten(&mut report.rule.path);
}
