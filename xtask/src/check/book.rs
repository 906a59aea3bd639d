//! `cargo xtask book`: builds the site with mdBook and checks every link.
//!
//! Pages live in `docs/` and at the repository's root, but mdBook needs a single source directory. They are copied into
//! one with the same layout, so that relative links keep working.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::failure::check_failed;
use crate::process::run as run_command;
use crate::tool::{CheckOutcome, Tool};
use crate::{metadata, print_status};

/// Without the server and search features, which dominate the build time.
const TOOL: Tool = Tool { name: "mdbook", version: "^0.5", how: &["--no-default-features"] };

const CONTENTS: &str = "docs/SUMMARY.md";
/// Directories that pages link to.
const COPIED: &[&str] = &["docs", "examples", "schemas"];
/// Preprocessors are disabled, because one of them renames README.md without updating links to it.
const SETTINGS: &str = "[book]\ntitle = \"Foreword\"\nlanguage = \"en\"\nsrc = \".\"\n\n[build]\nbuild-dir = \"../site\"\nuse-default-preprocessors = false\n\n\
                        [output.html]\nno-section-label = true\n";

/// Builds the site; fails if mdBook is missing.
pub(crate) fn run(root: &Path) -> Result<()> {
    match check(root)? {
        CheckOutcome::Passed => Ok(()),
        CheckOutcome::Skipped(reason) => anyhow::bail!("{reason}"),
    }
}

/// Builds the site, or skips the check if mdBook is missing.
pub(crate) fn check(root: &Path) -> Result<CheckOutcome> {
    let mdbook = match TOOL.find_or_install()? {
        Ok(program) => program,
        Err(why) => return Ok(CheckOutcome::Skipped(why)),
    };
    let directory = metadata::read()?.target_directory.join("book");
    let source = directory.join("source");
    let site = directory.join("site");
    for old in [&source, &site] {
        match fs::remove_dir_all(old) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    fs::create_dir_all(&source)?;
    fs::write(source.join("book.toml"), SETTINGS)?;
    let contents =
        fs::read_to_string(root.join(CONTENTS)).with_context(|| format!("failed to read {CONTENTS}"))?;
    // mdBook expects the table of contents at the root of its sources.
    fs::write(source.join("SUMMARY.md"), from_the_root(&contents))?;
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "md")
            || path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("LICENSE"))
        {
            copy(&path, &source.join(path.file_name().unwrap_or_default()))?;
        }
    }
    for name in COPIED {
        copy(&root.join(name), &source.join(name))?;
    }
    // The table of contents is the site's sidebar and no page of its own, so README links to all pages at once instead.
    fs::remove_file(source.join(CONTENTS))?;
    let readme = source.join("README.md");
    let text = fs::read_to_string(&readme).with_context(|| format!("failed to read {}", readme.display()))?;
    fs::write(&readme, text.replace(&format!("({CONTENTS})"), "(print.html)"))?;
    run_command(Command::new(mdbook).arg("build").arg(&source))?;
    let (pages, broken) = check_links(&site)?;
    for link in &broken {
        print_status(format!("book: {link}"));
    }
    match broken.len() {
        0 => print_status(format!("{pages} pages in {}", site.display())),
        count => return Err(check_failed(format!("{count} links of the site are broken"))),
    }
    Ok(CheckOutcome::Passed)
}

/// Adjusts the table of contents, whose links are relative to `docs/`, for the root directory.
fn from_the_root(contents: &str) -> String {
    let lines = contents.lines().map(|line| match line.split_once("](") {
        Some((title, link)) => match link.strip_prefix("../") {
            Some(link) => format!("{title}]({link}\n"),
            None => format!("{title}](docs/{link}\n"),
        },
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).with_context(|| format!("failed to copy {}", from.display()))?;
    Ok(())
}

/// Returns the number of pages and the links that lead to no file of the site.
fn check_links(site: &Path) -> Result<(usize, Vec<String>)> {
    let mut pages = 0;
    let mut broken = Vec::new();
    let mut directories = vec![site.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "html") {
                pages += 1;
                let text = fs::read_to_string(&path)?;
                // The 404 page is served at any path, so its relative links cannot be checked.
                if !path.ends_with("404.html") {
                    let lost = links(&text).into_iter().filter(|link| !exists(&path, link));
                    broken.extend(lost.map(|link| format!("{}: {link}", path.display())));
                }
            }
        }
    }
    Ok((pages, broken))
}

/// Returns the link targets of a page within the site.
fn links(page: &str) -> Vec<&str> {
    let attributes = ["href=\"", "src=\""];
    let targets =
        attributes.iter().flat_map(|it| page.split(it).skip(1)).filter_map(|rest| rest.split('"').next());
    // Anchors are cut off: only files are checked.
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|it| !it.is_empty() && !it.contains(':')).collect()
}

fn exists(page: &Path, link: &str) -> bool {
    let mut path = page.parent().map(PathBuf::from).unwrap_or_default();
    for component in Path::new(link).components() {
        match component {
            // Resolved without the file system, because a directory on the way may not exist.
            Component::ParentDir => drop(path.pop()),
            component => path.push(component),
        }
    }
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_is_rebased_to_the_root() {
        let contents = "# Guide\n\n- [First](guide.md)\n- [Security](../SECURITY.md)\n";
        assert_eq!(
            from_the_root(contents),
            "# Guide\n\n- [First](docs/guide.md)\n- [Security](SECURITY.md)\n"
        );
    }

    #[test]
    fn only_links_to_files_are_checked() {
        let page =
            r##"<a href="a.html#x">a</a><a href="#y">b</a><a href="https://c">c</a><img src="d.svg">"##;
        assert_eq!(links(page), ["a.html", "d.svg"]);
        assert!(exists(Path::new(file!()), "book.rs") || !Path::new(file!()).exists());
    }
}
