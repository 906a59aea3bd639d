//! Machine-readable reports: JSON, SARIF 2.1.0, and GitHub workflow annotations.

use compare::{annotation_data, annotation_property};
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::finding::{Finding, list};
use crate::rule::{RULES, Severity};
use crate::{CheckReport, FileCoverage, FindingGroup};

/// A finding with the name and page of its rule.
#[derive(Serialize)]
struct NamedFinding<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    /// Name of the rule.
    name: &'static str,
    /// Page about the rule.
    url: String,
}

/// Findings with the same sentence in several files.
#[derive(Serialize)]
struct Repeated<'a> {
    rule: &'static str,
    message: &'a str,
    /// Number of findings.
    count: usize,
}

/// Returns findings and summary as one object.
pub fn json(report: &CheckReport) -> Value {
    let files: &[FileCoverage] = &report.files;
    let named = |finding| {
        let rule = Finding::rule(finding);
        NamedFinding { finding, name: rule.name, url: rule.url() }
    };
    let groups = report.groups();
    let repeated = groups.iter().filter(|group| !group.others.is_empty()).map(|group| Repeated {
        rule: group.first.rule().code,
        message: &group.first.message,
        count: 1 + group.others.len(),
    });
    json!({
        "findings": report.findings.iter().map(named).collect::<Vec<_>>(),
        "summary": {
            "root": report.root.to_string_lossy(),
            "agents": report.agents,
            "errors": report.count(Severity::Error),
            "warnings": report.count(Severity::Warning),
            "infos": report.count(Severity::Info),
            "fixable": report.findings.iter().filter(|finding| finding.fixable).count(),
            "suppressed": report.suppressed,
            "repeated": repeated.collect::<Vec<_>>(),
            "files": files,
        },
    })
}

/// Returns a SARIF log with one run. Paths are relative to the project's root.
pub fn sarif(report: &CheckReport, version: &str) -> Value {
    let level = |severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let rules = RULES.iter().map(|rule| {
        // SARIF has a field for fixes, but it requires the exact replacement. The command is named in the help text
        // instead.
        let fix = rule.fix.map_or_else(String::new, |fix| format!(" `foreword check --fix` {fix}."));
        json!({
            "id": rule.code,
            "name": rule.name,
            "shortDescription": { "text": rule.summary },
            "fullDescription": { "text": format!("{} {}", rule.summary, rule.rationale) },
            "help": { "text": format!("{}{fix}", rule.advice) },
            "helpUri": rule.url(),
            "defaultConfiguration": { "level": level(rule.severity) },
        })
    });
    let results = report.findings.iter().map(|finding| {
        // The log is usually read on another machine, so paths are relative to `%SRCROOT%`, the conventional name for
        // the root of the sources.
        let mut place = json!({
            "artifactLocation": { "uri": uri(&finding.path, &report.root), "uriBaseId": "%SRCROOT%" },
        });
        if let Some(line) = finding.line {
            place["region"] = json!({ "startLine": line });
        }
        json!({
            "ruleId": finding.rule().code,
            "ruleIndex": finding.rule as usize,
            "level": level(finding.severity),
            "message": { "text": finding.message },
            "locations": [{ "physicalLocation": place }],
            "partialFingerprints": { "foreword/v1": finding.fingerprint },
            "properties": { "agents": finding.agents, "fixable": finding.fixable },
        })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "foreword",
                    "version": version,
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules.collect::<Vec<_>>(),
                },
            },
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// Returns a path relative to the root as a URI.
fn uri(path: &Path, root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let below = path.strip_prefix(root).unwrap_or(path);
    if below.as_os_str().is_empty() {
        return ".".to_owned();
    }
    let mut uri = String::new();
    for byte in below.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Returns a line per finding in the format of GitHub workflow commands. Paths below `base` are relative to
/// it.
pub fn github(report: &CheckReport, base: &Path) -> String {
    // GitHub shows ten annotations of each kind per step, so that repeated findings would displace others.
    report.groups().iter().map(|group| format!("{}\n", annotation(group, base))).collect()
}

/// Most further files named in an annotation.
const NAMED: usize = 5;

fn annotation(group: &FindingGroup<'_>, base: &Path) -> String {
    let finding = group.first;
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let path = finding.path.strip_prefix(base).unwrap_or(&finding.path);
    // GitHub attaches annotations to files only, so the message names a directory.
    let (place, message) = if path.as_os_str().is_empty() {
        (String::new(), finding.message.clone())
    } else if finding.path.is_dir() {
        (String::new(), format!("{}: {}", path.to_string_lossy(), finding.message))
    } else {
        let line = finding.line.map_or_else(String::new, |line| format!(",line={line}"));
        (format!("file={}{line},", annotation_property(&path.to_string_lossy())), finding.message.clone())
    };
    let rule = finding.rule();
    let title = annotation_property(&format!("{} {}", rule.code, rule.name));
    let shown = |finding: &&Finding| {
        finding.path.strip_prefix(base).unwrap_or(&finding.path).to_string_lossy().into_owned()
    };
    let mut others: Vec<String> = group.others.iter().take(NAMED).map(shown).collect();
    if group.others.len() > NAMED {
        others.push(format!("{} more", group.others.len() - NAMED));
    }
    let others =
        if others.is_empty() { String::new() } else { format!("; the same in {}", list(others, "and")) };
    format!(
        "::{command} {place}title={title}::{}",
        annotation_data(&format!("{message}{others} ({})", rule.url()))
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::rule::RuleId;

    fn report(path: &str, message: &str) -> CheckReport {
        let finding = Finding::new(RuleId::MissingPath, Path::new(path), message).at_line(3);
        CheckReport {
            root: PathBuf::from("/r"),
            findings: vec![finding],
            files: Vec::new(),
            agents: vec!["codex"],
            suppressed: 0,
            notes: Vec::new(),
        }
    }

    #[test]
    fn annotations_contain_no_control_characters() {
        let text = github(&report("/r/a\u{1b}[31m.md", "100 %\n\u{202e}x"), Path::new("/r"));
        assert!(text.contains(r"file=a\u{1b}[31m.md") && text.contains(r"100 %25%0A\u{202e}x"), "{text}");
    }

    #[test]
    fn annotations_are_escaped() {
        assert_eq!(
            github(&report("/r/a,b:c\n%.md", "100 %\r\nof it: a, b"), Path::new("/r")),
            format!(
                "::warning file=a%2Cb%3Ac%0A%25.md,line=3,title=FW008 missing-path::100 %25%0D%0Aof it: a, b ({})\n",
                RuleId::MissingPath.rule().url()
            )
        );
    }

    #[test]
    fn uris_are_relative_and_escaped() {
        assert_eq!(uri(Path::new("/r/a b/ü\n\".md"), Path::new("/r")), "a%20b/%C3%BC%0A%22.md");
        assert_eq!(uri(Path::new("/r"), Path::new("/r")), ".");
    }

    /// Checks the properties that the specification requires of logs, runs, rules and results.
    #[test]
    fn a_sarif_log_has_its_shape() {
        let log = sarif(&report("/r/AGENTS.md", "x"), "1.2.3");
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "foreword");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), RULES.len());
        for rule in rules {
            assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string());
            let page = format!("/docs/rules/{}.md", rule["id"].as_str().unwrap());
            assert!(rule["helpUri"].as_str().unwrap().ends_with(&page));
            let level = rule["defaultConfiguration"]["level"].as_str().unwrap();
            assert!(["none", "note", "warning", "error"].contains(&level));
        }
        let result = &run["results"][0];
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "AGENTS.md");
        assert_eq!(place["region"]["startLine"], 3);
    }
}
