//! Links between the pages: every file and every heading that one leads to is there, and the table of contents is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{REPOSITORY, page};

const CONTENTS: &str = "docs/SUMMARY.md";

/// Files that a reader of the repository may open.
fn pages() -> Vec<String> {
    let root = Path::new(REPOSITORY);
    let entries = std::fs::read_dir(root).expect("the repository");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    for directory in ["docs", "examples"] {
        if root.join(directory).exists() {
            pages.extend(page::below(root, directory));
        }
    }
    pages.sort_unstable();
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(Path::new(REPOSITORY).join(path)).unwrap_or_default()
}

/// The targets of a page's links and pictures.
fn links(text: &str) -> Vec<String> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES);
    let targets = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    targets.collect()
}

/// The names that a page's headings can be reached by.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                // The second heading of a name gets a number.
                let numbered = (1..).map(|number| format!("{anchor}-{number}"));
                let free =
                    std::iter::once(anchor.clone()).chain(numbered).find(|name| !anchors.contains(name));
                anchors.extend(free);
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    // GitHub's rules: letters in lower case, spaces as hyphens, and no other punctuation.
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// A path without `..`, below the repository.
fn resolved(page: &str, target: &str) -> PathBuf {
    let mut path = Path::new(page).parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => assert!(path.pop(), "{page}: {target} leads out of the repository"),
            component => path.push(component),
        }
    }
    path
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut checked = 0;
    let mut headings: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for page in pages() {
        for link in links(&read(Path::new(&page))) {
            // External addresses are not checked, since a test must not fail when another site is down.
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path: PathBuf = if file.is_empty() { PathBuf::from(&page) } else { resolved(&page, file) };
            if !Path::new(REPOSITORY).join(&path).exists() {
                broken.push(format!("{page}: {link}: there is no {}", path.display()));
                continue;
            }
            let headings = headings.entry(path.clone()).or_insert_with(|| anchors(&read(&path)));
            if !anchor.is_empty() && !headings.contains(anchor) {
                broken.push(format!("{page}: {link}: {} has no such heading", path.display()));
            }
        }
    }
    println!("{checked} links checked");
    // Without a lower bound, a parser that finds no links at all would pass.
    assert!(checked > 100, "only {checked} links were found");
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let listed: BTreeSet<PathBuf> =
        links(&read(Path::new(CONTENTS))).iter().map(|link| resolved(CONTENTS, link)).collect();
    let mut missing = page::below(Path::new(REPOSITORY), "docs");
    missing.retain(|page| page != CONTENTS && !listed.contains(Path::new(page)));
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn headings_have_the_anchors_of_code_hosts() {
    let page = "# What `foreword explain` says\n\n## Try it\n\n## Try it\n\n## thread/agents_doc/get\n";
    let expected = ["threadagents_docget", "try-it", "try-it-1", "what-foreword-explain-says"];
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(resolved("docs/a.md", "../SECURITY.md"), Path::new("SECURITY.md"));
}
