//! Application of the rules to a tree.

mod commands;
pub(crate) mod contradictions;
mod disk;
mod front_matter;
mod guards;
mod hidden;
mod imports;
mod paths;
mod reach;
mod repeats;
mod secrets;

use crate::finding::Findings;
use crate::policy::CheckPolicy;
use crate::project::Project;
use crate::search::Search;
use crate::shell;

pub(crate) use hidden::without_invisible;

/// Collects the findings of all rules.
pub(crate) fn run(project: &Project, policy: &CheckPolicy, findings: &mut Findings<'_>) {
    let mut search = Search::default();
    disk::run(project, findings);
    reach::run(project, findings);
    imports::run(project, findings);
    repeats::run(project, findings);
    for document in project.documents.iter().filter(|document| !document.is_alias) {
        hidden::run(document, findings);
        guards::run(document, findings);
        secrets::run(document, findings);
        front_matter::run(project, document, policy, &mut search, findings);
        paths::run(project, document, policy, &mut search);
        commands::run(project, document, policy, &shell::commands(document), &mut search, findings);
    }
    contradictions::run(project, findings);
    search.run(project, findings);
}
