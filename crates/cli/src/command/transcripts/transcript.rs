//! `foreword transcript`: sessions and their timelines.

use std::path::Path;

use protocol::{TranscriptEvent, TranscriptEventKind, TranscriptList, TranscriptSession, TranscriptTimeline};
use transcripts::SessionsRequest;

use crate::arguments::Transcript;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::progress::Progress;
use crate::output::relative_path::Viewpoint;
use crate::output::{one_line, plain, table};

/// Longest text of an event in a timeline for people.
const LINE: usize = 100;
/// Longest title in a table.
const TITLE: usize = 40;

pub(crate) fn run(context: &Context, command: &Transcript) -> Result<Exit, Failure> {
    match command {
        Transcript::List { path, agents } => list(context, path.as_deref(), agents),
        Transcript::Show { id } => show(context, id),
    }
}

fn list(context: &Context, path: Option<&Path>, agents: &[String]) -> Result<Exit, Failure> {
    let agents = super::named_agents(agents)?;
    let cwd = directory(path)?;
    let root = transcripts::project_root(&cwd);
    let files = Files::new(context)?;
    let homes = super::homes(&files.settings);
    let cache = super::cache();
    let progress = Progress::start(context.output, "reading the transcripts");
    let found = transcripts::find_sessions(&SessionsRequest {
        agents: &agents,
        homes: &homes,
        project: Some(&root),
        cache: cache.as_deref(),
    });
    drop(progress);
    super::warn(context, &found.problems);
    let sessions = TranscriptList { sessions: found.listed() };
    context.output.data(&sessions, || sessions_table(&sessions.sessions, &root))?;
    if sessions.sessions.is_empty() {
        let message = format!("no session of an agent was found in {}", root.display());
        context
            .output
            .warning(&message, Some("`foreword transcript list /` lists the sessions of all projects"));
        return Ok(Exit::CheckFailed);
    }
    Ok(Exit::Done)
}

fn sessions_table(sessions: &[TranscriptSession], root: &Path) -> String {
    let viewpoint = Viewpoint::at(root);
    let rows = sessions.iter().map(|session| {
        let mut files: Vec<String> = session
            .files
            .iter()
            .map(|file| format!("{} ({})", viewpoint.path(Path::new(&file.path)), file.message))
            .collect();
        files.dedup();
        let agent = match &session.version {
            Some(version) => format!("{} {}", session.agent, plain(version)),
            None => session.agent.clone(),
        };
        let mut notes = Vec::new();
        if session.parent.is_some() {
            notes.push("subagent".to_owned());
        }
        if session.running {
            notes.push("running".to_owned());
        }
        if session.compactions > 0 {
            notes.push(format!("{} compacted", session.compactions));
        }
        if session.subagents > 0 {
            notes.push(crate::output::count(session.subagents, "subagent"));
        }
        let title = session.title.as_deref().map_or_else(String::new, |title| one_line(&plain(title), TITLE));
        vec![
            agent,
            plain(&session.id),
            super::minute(session.started_at),
            viewpoint.path(Path::new(&session.cwd)),
            session.messages.to_string(),
            session.tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
            title,
            notes.join(", "),
            files.join(", "),
        ]
    });
    table(
        &[
            "agent",
            "session",
            "started",
            "directory",
            "messages",
            "tokens",
            "title",
            "notes",
            "files (message)",
        ],
        rows,
    )
}

fn show(context: &Context, id: &str) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let homes = super::homes(&files.settings);
    let cache = super::cache();
    let progress = Progress::start(context.output, "reading the transcripts");
    let found = transcripts::find_sessions(&SessionsRequest {
        agents: &[],
        homes: &homes,
        project: None,
        cache: cache.as_deref(),
    });
    let subagents: Vec<(String, u64)> =
        found.listed().into_iter().map(|session| (session.id, session.subagents)).collect();
    let session = found.with_id(id).map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))?;
    let read = transcripts::timeline(&session.source);
    drop(progress);
    let (mut timeline, _) = read.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let number = subagents.into_iter().find(|(id, _)| *id == timeline.session.id);
    timeline.session.subagents = number.map_or(0, |(_, number)| number);
    super::warn(context, &timeline.session.problems);
    context.output.data(&timeline, || text(&timeline))?;
    Ok(Exit::Done)
}

fn text(timeline: &TranscriptTimeline) -> String {
    let root = transcripts::project_root(Path::new(&timeline.session.cwd));
    let heading = sessions_table(std::slice::from_ref(&timeline.session), &root);
    let viewpoint = Viewpoint::at(&root);
    let rows = timeline.events.iter().map(|event| row(event, viewpoint));
    format!("{heading}\n{}", table(&["message", "event", "", "text"], rows))
}

fn row(event: &TranscriptEvent, viewpoint: Viewpoint<'_>) -> Vec<String> {
    let kind = match event.kind {
        TranscriptEventKind::Start => "start",
        TranscriptEventKind::User => "user",
        TranscriptEventKind::Assistant => "assistant",
        TranscriptEventKind::Call => "call",
        TranscriptEventKind::Result => "result",
        TranscriptEventKind::Instructions => "instructions",
        TranscriptEventKind::Compaction => "compaction",
    };
    let path = event.path.as_ref().map(|path| viewpoint.path(Path::new(path)));
    let place = [event.tool.as_deref().map(plain), path].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = event.text.as_deref().map_or_else(String::new, |text| one_line(&plain(text), LINE));
    vec![event.message.to_string(), kind.to_owned(), place, text]
}
