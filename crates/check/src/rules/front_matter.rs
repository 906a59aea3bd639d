//! Invalid front matter, and globs without matches.

use std::borrow::Cow;

use instructions::header::{self, Fence, globs, parse};
use instructions::{AppliesTo, FOREWORD};

use crate::document::Document;
use crate::finding::{Finding, Findings};
use crate::policy::CheckPolicy;
use crate::project::Project;
use crate::rule::RuleId;
use crate::search::{RuleGlob, RuleGlobs, Search};

/// Key of Foreword's own rules.
const OURS: &[&str] = &["applies_to"];

pub(super) fn run(
    project: &Project,
    document: &Document,
    policy: &CheckPolicy,
    search: &mut Search,
    findings: &mut Findings<'_>,
) {
    let invalid = |message: String, line: Option<usize>| {
        let finding = Finding::new(RuleId::InvalidFrontMatter, &document.path, message);
        finding.at_line(line.unwrap_or(1))
    };
    let ours = project.chains.iter().filter(|chain| *chain.agent == FOREWORD);
    let said = ours
        .flat_map(|chain| &chain.diagnostics)
        .find(|diagnostic| diagnostic.path.as_ref() == Some(&document.path));
    // Foreword's own parser has reported the exact problem. The general YAML check would only repeat it.
    if let Some(diagnostic) = said {
        findings.push(invalid(diagnostic.message.clone(), diagnostic.line).for_agents([&&FOREWORD]));
        return;
    }
    let is_ours = document.readers.contains(&&FOREWORD);
    let keys = match document.folder {
        Some(folder) => folder.conditions.keys,
        None if is_ours => OURS,
        None => return,
    };
    let text: Cow<'_, str> = if document.text.contains('\r') {
        document.text.replace("\r\n", "\n").into()
    } else {
        (&*document.text).into()
    };
    // The line numbers below count from a file with `\n`, and the fence must match exactly. Windows line ends are
    // normal in rules, so they were replaced first.
    let Some(header) = header::find(&text, Fence::Exact) else {
        let begins = text.lines().next().is_some_and(|line| line.trim_end() == "---");
        if document.folder.is_some() && begins {
            findings.push(invalid("no line `---` ends its front matter".to_owned(), None));
        }
        return;
    };
    let values = match parse(header.yaml) {
        Ok(values) => values,
        // In files other than rules, an invalid header is plain text.
        Err(_) if document.folder.is_none() => return,
        Err(problem) => {
            let message = format!("its front matter is not YAML: {}", problem.message);
            findings.push(invalid(message, problem.line));
            return;
        }
    };
    let everything = document.folder.map_or(&[][..], |folder| folder.conditions.everything);
    let mut rule = RuleGlobs {
        path: document.path.clone(),
        base: document.directory.clone(),
        shown_base: project.shown(&document.directory),
        globs: Vec::new(),
        has_others: false,
    };
    for value in keys.iter().filter_map(|key| values.get(key)) {
        for glob in globs(value) {
            if everything.contains(&glob.as_str()) {
                rule.has_others = true;
                continue;
            }
            // An exclusion without a match is harmless: it excludes nothing today and may do so later.
            if glob.starts_with('!') {
                continue;
            }
            let line = 2 + header.yaml.lines().position(|line| line.contains(&glob)).unwrap_or(0);
            match AppliesTo::new(vec![glob.clone()]) {
                Err(problem) => {
                    rule.has_others = true;
                    findings.push(invalid(problem, Some(line)));
                }
                Ok(applies_to) => rule.globs.push(RuleGlob { glob: applies_to, written: glob, line }),
            }
        }
    }
    if policy.is_on(RuleId::GlobMatchesNothing) {
        search.for_globs(rule);
    }
}
