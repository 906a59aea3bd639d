//! A project in a temporary directory, and its findings.

use std::path::{Path, PathBuf};

use check::{CheckPolicy, CheckReport, CheckRequest, CheckSettings, check};

/// A project with `.git` at its root.
pub(crate) struct Project {
    _directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
    /// Checked directory; the root unless a test changes it.
    pub(crate) directory: PathBuf,
    pub(crate) settings: CheckSettings,
}

impl Project {
    /// Creates a project with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("project");
        let project =
            Self { _directory: directory, directory: root.clone(), root, settings: CheckSettings::default() };
        // Git accepts a directory as a repository only with these entries. Profiles that use Git's own test for the
        // root need them.
        project.write(".git/HEAD", "ref: refs/heads/main\n");
        project.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
        std::fs::create_dir_all(project.root.join(".git/objects")).unwrap();
        std::fs::create_dir_all(project.root.join(".git/refs")).unwrap();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    pub(crate) fn report(&self, agents: &[&str]) -> CheckReport {
        let agents: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
        let policy = CheckPolicy::new(&self.settings, &agents).unwrap();
        check(CheckRequest { directory: &self.directory, config: &Default::default(), policy }).unwrap()
    }

    /// Findings as `CODE path:line message`, without those about agents that read nothing and files that are not judged.
    pub(crate) fn findings(&self, agents: &[&str]) -> Vec<String> {
        let report = self.report(agents);
        let findings =
            report.findings.iter().filter(|finding| !["FW004", "FW020"].contains(&finding.rule().code));
        findings.map(|finding| self.show(finding)).collect()
    }

    /// Returns the findings of one rule for Foreword and all verified agents, as `path:line message`.
    pub(crate) fn of_rule(&self, code: &str) -> Vec<String> {
        let verified = compare::verified_agents();
        let agents: Vec<&str> =
            std::iter::once("foreword").chain(verified.iter().map(|agent| agent.name)).collect();
        let report = self.report(&agents);
        let findings = report.findings.iter().filter(|finding| finding.rule().code == code);
        let shown = findings.map(|finding| self.show(finding));
        shown.map(|shown| shown.split_once(' ').unwrap().1.to_owned()).collect()
    }

    fn show(&self, finding: &check::Finding) -> String {
        let path = finding.path.strip_prefix(&self.root).unwrap_or(&finding.path).display();
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{} {path}{line} {}", finding.rule().code, finding.message)
    }
}
