//! A project and a home directory with the recorded sessions of one agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use instructions::{FileSettings, HomeDirectories};
use protocol::WhyReport;
use serde::Deserialize;
use tempfile::TempDir;
use transcripts::{AGENTS, Homes, Search, SessionChoice, WhyAnswer, WhyError, WhyRequest};

/// Truth about the requests of a recorded session.
#[derive(Debug, Deserialize)]
pub(crate) struct Truth {
    pub(crate) started: f64,
    pub(crate) edits: Vec<Edit>,
    pub(crate) rules: Vec<TrueRule>,
    pub(crate) requests: Vec<TrueRequest>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edit {
    pub(crate) at: f64,
}

/// A rule, and the requests that contained it.
#[derive(Debug, Deserialize)]
pub(crate) struct TrueRule {
    pub(crate) rule: String,
    pub(crate) version: u32,
    pub(crate) visible_in: Vec<u32>,
}

/// A request and the scripted answer of the model.
#[derive(Debug, Deserialize)]
pub(crate) struct TrueRequest {
    pub(crate) n: u32,
    pub(crate) phase: String,
    pub(crate) answered: serde_json::Value,
}

/// A recorded session in a temporary directory.
pub(crate) struct Recorded {
    pub(crate) _directory: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) homes: Homes,
    pub(crate) truth: Truth,
}

/// State of the project's history.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Project {
    /// A repository with one commit before the session and one at the edit.
    Committed,
    /// Files without a repository's history, as before the edit.
    Before,
    /// Files without a repository's history, as after the edit.
    After,
}

impl Recorded {
    pub(crate) fn new(scenario: &str, project: Project) -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let (root, home) = (base.join("repo"), base.join("home"));
        let source = tests.join("sessions").join(scenario);
        let truth: Truth = serde_json::from_slice(&fs::read(source.join("truth.json")).unwrap()).unwrap();
        let slug: String =
            root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let fill = |text: &str| {
            let text = text.replace("{R-slug}", &slug).replace("{R}", root.to_str().unwrap());
            text.replace("{H}", home.to_str().unwrap()).replace("{P}", base.to_str().unwrap())
        };
        copy(&source.join("home"), &home, &fill);
        make_project(&tests.join("repository"), &root, project, &truth);
        let agents = HomeDirectories::find(Some(home.clone()), |_| None);
        let homes = Homes { agents, data: Some(home.join(".local/share")) };
        Self { _directory: directory, root, home, homes, truth }
    }

    pub(crate) fn why(
        &self,
        rule: &str,
        sessions: SessionChoice<'_>,
        when: Option<&str>,
    ) -> Result<WhyAnswer, WhyError> {
        self.why_cached(rule, sessions, when, None)
    }

    pub(crate) fn why_cached(
        &self,
        rule: &str,
        sessions: SessionChoice<'_>,
        when: Option<&str>,
        cache: Option<&Path>,
    ) -> Result<WhyAnswer, WhyError> {
        let settings =
            FileSettings { homes: self.homes.agents.clone(), ..FileSettings::of(&instructions::FOREWORD) };
        let search = when.map(|when| Search::parse(when).unwrap());
        transcripts::why(&WhyRequest {
            rule,
            cwd: &self.root,
            agents: AGENTS,
            sessions,
            search: search.as_ref(),
            since: None,
            homes: &self.homes,
            settings: &settings,
            cache,
        })
    }

    pub(crate) fn report(&self, rule: &str, sessions: SessionChoice<'_>, when: Option<&str>) -> WhyReport {
        self.why(rule, sessions, when).unwrap_or_else(|error| panic!("{error}: {}", error.hint())).report
    }
}

fn make_project(source: &Path, root: &Path, project: Project, truth: &Truth) {
    copy(&source.join("before"), root, &str::to_owned);
    std::os::unix::fs::symlink("AGENTS.md", root.join("services/billing/CLAUDE.md")).unwrap();
    fs::write(root.join("services/billing/total.py"), "def total(items): ...\n").unwrap();
    let edit = || copy(&source.join("after"), root, &str::to_owned);
    match project {
        Project::Before => fs::create_dir(root.join(".git")).unwrap(),
        Project::After => {
            edit();
            fs::create_dir(root.join(".git")).unwrap();
        }
        Project::Committed => {
            git(root, &["init", "--quiet"], 0.0);
            commit(root, truth.started - 3600.0);
            if let Some(at) = truth.edits.first().map(|edit| edit.at) {
                edit();
                commit(root, at);
            }
        }
    }
}

pub(crate) fn commit(root: &Path, at: f64) {
    git(root, &["add", "--all"], at);
    git(root, &["commit", "--quiet", "--message", "change"], at);
}

fn git(root: &Path, arguments: &[&str], at: f64) {
    let date = format!("@{} +0000", at as i64);
    let status = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=Dev", "-c", "user.email=dev@example.com", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap();
    assert!(status.success());
}

fn copy(source: &Path, target: &Path, fill: &dyn Fn(&str) -> String) {
    fs::create_dir_all(target).unwrap();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let to = target.join(fill(path.file_name().unwrap().to_str().unwrap()));
        if path.is_dir() {
            copy(&path, &to, fill);
            continue;
        }
        match String::from_utf8(fs::read(&path).unwrap()) {
            Ok(text) => fs::write(&to, fill(&text)).unwrap(),
            Err(_) => drop(fs::copy(&path, &to).unwrap()),
        }
        if path.extension().is_some_and(|extension| extension == "db") {
            fill_database(&to, fill);
        }
    }
}

fn fill_database(path: &Path, fill: &dyn Fn(&str) -> String) {
    let database = rusqlite::Connection::open(path).unwrap();
    for (table, column) in
        [("session", "directory"), ("project", "worktree"), ("message", "data"), ("part", "data")]
    {
        let mut select = database.prepare(&format!("SELECT id, {column} FROM {table}")).unwrap();
        let rows: Vec<(String, String)> =
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
        for (id, text) in rows {
            let sql = format!("UPDATE {table} SET {column} = ?2 WHERE id = ?1");
            database.execute(&sql, [&id, &fill(&text)]).unwrap();
        }
    }
}
