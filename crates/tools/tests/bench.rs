//! A workspace in a temporary directory, and calls to its tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use protocol::HowDecided;
use serde_json::Value;
use tools::{
    ApprovalDecision, ApprovalRequest, Approvals, Permission, Permissions, Router, ToolCall, ToolContext,
    ToolLimits, ToolOutput, Toolbox,
};

/// A workspace that permits writes, with a file outside of it.
pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) context: ToolContext,
    pub(crate) toolbox: Toolbox,
}

/// Creates a workspace with these files.
pub(crate) fn bench(files: &[(&str, &str)]) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(directory.path().join("outside"), "secret\n").unwrap();
    let context = ToolContext::open(&root, &root).unwrap().with_permissions(Permissions {
        write: Permission::Allow,
        protected: Permission::Deny,
        identity: Permission::Allow,
    });
    let context = context.with_set_aside(directory.path().join("undone"));
    let bench = Bench { directory, context, toolbox: Toolbox::files() };
    for (path, content) in files {
        bench.write(path, content);
    }
    bench
}

impl Bench {
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    pub(crate) fn read_if_there(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    /// Sets the working directory.
    pub(crate) fn at(mut self, cwd: &str) -> Self {
        let permissions = self.context.permissions();
        self.context = ToolContext::open(self.root(), self.path(cwd)).unwrap().with_permissions(permissions);
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut ToolLimits)) -> Self {
        let mut limits = *self.context.limits();
        change(&mut limits);
        self.context = self.context.with_limits(limits);
        self
    }

    pub(crate) fn permissions(mut self, write: Permission, protected: Permission) -> Self {
        self.context =
            self.context.with_permissions(Permissions { write, protected, ..Permissions::default() });
        self
    }

    pub(crate) fn approvals(mut self, approvals: &Arc<impl Approvals>) -> Self {
        self.context = self.context.with_approvals(approvals.clone());
        self
    }

    pub(crate) fn router(&self) -> Router {
        Router::all(&self.toolbox, self.context.clone())
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.router().call(call(name, arguments)).await
    }

    /// Returns the text of a call that must succeed.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let output = self.call(name, arguments).await;
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    /// Returns the text of a call that must fail.
    pub(crate) async fn error(&self, name: &str, arguments: Value) -> String {
        let output = self.call(name, arguments).await;
        assert!(output.is_error, "{}", output.text);
        output.text
    }
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "call-1".into(), name: name.into(), arguments: arguments.to_string() }
}

/// Approvals that give the same decision every time, and record the requests.
pub(crate) struct Answers {
    answer: Option<ApprovalDecision>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Answers {
    pub(crate) fn allow() -> Arc<Self> {
        Self::with(Some(ApprovalDecision::Allow))
    }

    pub(crate) fn deny(how: HowDecided) -> Arc<Self> {
        Self::with(Some(ApprovalDecision::Deny(how)))
    }

    pub(crate) fn never() -> Arc<Self> {
        Self::with(None)
    }

    fn with(answer: Option<ApprovalDecision>) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approvals for Answers {
    async fn ask(&self, request: ApprovalRequest) -> ApprovalDecision {
        self.asked.lock().unwrap().push(request);
        match &self.answer {
            Some(answer) => answer.clone(),
            None => std::future::pending().await,
        }
    }
}
