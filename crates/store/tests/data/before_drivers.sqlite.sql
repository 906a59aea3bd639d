PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE access_token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'reader')),
    workspace_id TEXT REFERENCES workspace (id),
    secret_sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    revoked_at BIGINT,
    revoked_by TEXT
);
INSERT INTO "access_token" VALUES('01a1e135-45a5-7621-ae55-a92a4ec63e92','owner','owner',NULL,'2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b',1794779727270,NULL,NULL,NULL);
INSERT INTO "access_token" VALUES('01a1e135-45a7-71cf-8f56-23133e81212d','ci','reader','01a1e135-458a-7605-b657-713607783e77','bd4106123e659e259c401119d0c7ef0a221df306a5a414b6fb6a579499962d26',1794779727271,'ada',1794779727272,'ada');
CREATE TABLE change_log (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    seq BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    actor TEXT,
    method TEXT NOT NULL,
    params TEXT NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',1,1794779727242,'ada','thread/tree/changed','{"seq":1,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"workspace_created"}');
INSERT INTO "change_log" VALUES('01a1e135-458b-7088-88b3-5968c0884a39',1,1794779727243,NULL,'thread/tree/changed','{"seq":1,"workspace_id":"01a1e135-458b-7088-88b3-5968c0884a39","reason":"workspace_created"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',2,1794779727244,'ada','thread/tree/changed','{"seq":2,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"folder_created","folder_id":"01a1e135-458c-77aa-ab97-26455978f554"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',3,1794779727245,'ada','thread/tree/changed','{"seq":3,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"folder_created","folder_id":"01a1e135-458e-7287-8622-55de3ee67925"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',4,1794779727247,'ada','thread/tree/changed','{"seq":4,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"folder_created","folder_id":"01a1e135-458f-76f2-bbea-5cdd25a2d410"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',5,1794779727248,'ada','thread/agents_doc/changed','{"seq":5,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","summary":{"id":"01a1e135-4591-705e-aec1-fbef4ac72999","workspace_id":"01a1e135-458a-7605-b657-713607783e77","status":"active","content_sha256":"8bc4dc31b92d041cd0c83348630e9dd9fa1af872f59e8131cb192721edf573f9","version":1,"char_count":12,"updated_at":"2026-11-15T21:55:27.248Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',6,1794779727250,NULL,'thread/agents_doc/changed','{"seq":6,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","summary":{"id":"01a1e135-4591-705e-aec1-fbef4ac72999","workspace_id":"01a1e135-458a-7605-b657-713607783e77","status":"active","content_sha256":"3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a","version":2,"char_count":30,"updated_at":"2026-11-15T21:55:27.250Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',7,1794779727252,'ada','thread/agents_doc/changed','{"seq":7,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","summary":{"id":"01a1e135-4595-7494-b2ff-9dbd9fea303f","workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","status":"active","content_sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","version":1,"char_count":3,"updated_at":"2026-11-15T21:55:27.252Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',8,1794779727254,'ada','thread/agents_doc/changed','{"seq":8,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',9,1794779727256,'ada','thread/agents_doc/changed','{"seq":9,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","summary":{"id":"01a1e135-4598-767a-90b2-333107f0915c","workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","status":"active","content_sha256":"3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3","version":3,"char_count":3,"updated_at":"2026-11-15T21:55:27.256Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',10,1794779727257,'ada','thread/agents_doc/changed','{"seq":10,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","summary":{"id":"01a1e135-4598-767a-90b2-333107f0915c","workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458c-77aa-ab97-26455978f554","status":"active","content_sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","version":4,"char_count":3,"updated_at":"2026-11-15T21:55:27.257Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',11,1794779727259,'ada','thread/agents_doc/changed','{"seq":11,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458e-7287-8622-55de3ee67925","summary":{"id":"01a1e135-459b-7037-bd77-1eb69c0da1c7","workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458e-7287-8622-55de3ee67925","status":"draft","content_sha256":"e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700","version":1,"char_count":2,"updated_at":"2026-11-15T21:55:27.259Z"},"effective_changed":false}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',12,1794779727260,'ada','thread/agents_doc/changed','{"seq":12,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458f-76f2-bbea-5cdd25a2d410","summary":{"id":"01a1e135-459d-7122-85d2-0808310f69a8","workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458f-76f2-bbea-5cdd25a2d410","status":"active","content_sha256":"e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d","version":1,"char_count":20,"updated_at":"2026-11-15T21:55:27.260Z"},"effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',13,1794779727262,'ada','thread/agents_doc/changed','{"seq":13,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","folder_id":"01a1e135-458f-76f2-bbea-5cdd25a2d410","effective_changed":true}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',14,1794779727262,'ada','thread/tree/changed','{"seq":14,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"folder_deleted","folder_id":"01a1e135-458f-76f2-bbea-5cdd25a2d410"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',15,1794779727264,'ada','thread/tree/changed','{"seq":15,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"thread_created","folder_id":"01a1e135-458e-7287-8622-55de3ee67925","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',16,1794779727266,NULL,'thread/tree/changed','{"seq":16,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"thread_created","thread_id":"01a1e135-45a2-767a-b89b-bbe10f00b596"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',17,1794779727267,NULL,'thread/tree/changed','{"seq":17,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"thread_created","thread_id":"01a1e135-45a3-73f1-b597-74513e3a86d9"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',18,1794779727268,'ada','thread/tree/changed','{"seq":18,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","reason":"thread_archived","thread_id":"01a1e135-45a3-73f1-b597-74513e3a86d9"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',19,1794779727273,'ada','turn/started','{"seq":19,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',20,1794779727279,'ada','turn/manifest','{"seq":20,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8","round":1}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',21,1794779727281,'ada','turn/tool_started','{"seq":21,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8","call_id":"c1","tool":"read_file"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',22,1794779727282,'ada','turn/approval_requested','{"seq":22,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8","call_id":"c2","tool":"write_file"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',23,1794779727287,'ada','turn/completed','{"seq":23,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',24,1794779727290,'ada','turn/started','{"seq":24,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45ba-775c-ab63-4d96e9d8ea6b"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',25,1794779727292,NULL,'turn/failed','{"seq":25,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45ba-775c-ab63-4d96e9d8ea6b"}');
INSERT INTO "change_log" VALUES('01a1e135-458a-7605-b657-713607783e77',26,1794779727321,NULL,'turn/started','{"seq":26,"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a2-767a-b89b-bbe10f00b596","turn_id":"01a1e135-45e4-7292-92a7-5e833d5531bb"}');
CREATE TABLE folder (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    parent_folder_id TEXT REFERENCES folder (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
INSERT INTO "folder" VALUES('01a1e135-458c-77aa-ab97-26455978f554','01a1e135-458a-7605-b657-713607783e77',NULL,'top',1794779727244,1794779727244,NULL);
INSERT INTO "folder" VALUES('01a1e135-458e-7287-8622-55de3ee67925','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554','inner',1794779727245,1794779727245,NULL);
INSERT INTO "folder" VALUES('01a1e135-458f-76f2-bbea-5cdd25a2d410','01a1e135-458a-7605-b657-713607783e77',NULL,'gone',1794779727247,1794779727262,1794779727262);
CREATE TABLE hook_run (
    id TEXT PRIMARY KEY,
    workspace_id TEXT REFERENCES workspace (id),
    thread_id TEXT REFERENCES thread (id),
    turn_id TEXT REFERENCES turn (id),
    package_id TEXT NOT NULL,
    hook_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    record TEXT NOT NULL,
    CHECK (workspace_id IS NOT NULL OR (thread_id IS NULL AND turn_id IS NULL))
);
INSERT INTO "hook_run" VALUES('01a1e135-45ac-73e6-8427-2851db237572','01a1e135-458a-7605-b657-713607783e77','01a1e135-45a1-773e-a141-08147b2be3f7','01a1e135-45aa-738e-9709-7c53fa3396c8','p','h','s','turn.pre_prompt_compile','completed',1794779727275,12,'{"workspace_id":"01a1e135-458a-7605-b657-713607783e77","thread_id":"01a1e135-45a1-773e-a141-08147b2be3f7","turn_id":"01a1e135-45aa-738e-9709-7c53fa3396c8","package_id":"p","hook_id":"h","subscription_id":"s","phase":"turn.pre_prompt_compile","execution":"blocking","failure":"fail_closed","visibility":"internal","started_at_ms":1794779727275,"duration_us":12,"status":"completed","contributions":{"prompt_section":1},"refused":0,"bytes":9,"error_preview":null}');
CREATE TABLE prompt_manifest (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    round BIGINT NOT NULL CHECK (round >= 0),
    manifest TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (turn_id, round)
);
INSERT INTO "prompt_manifest" VALUES('01a1e135-458a-7605-b657-713607783e77','01a1e135-45aa-738e-9709-7c53fa3396c8',1,'{"compiler_version":"1.1","profile":"full","sections":[],"fingerprints":{"stable":"s1","session":"s2","turn":"t1","dynamic":"d1","full":"f1"},"diagnostics":[],"hook_sources":[]}','f1',1794779727279);
CREATE TABLE prompt_text (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    sha256 TEXT NOT NULL,
    content TEXT NOT NULL,
    chars BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, sha256)
);
INSERT INTO "prompt_text" VALUES('01a1e135-458a-7605-b657-713607783e77','33a7b215065f2ee8635efb72620bc269a1efb889ba3026560334da7366742374','another
',8,1794779727277);
INSERT INTO "prompt_text" VALUES('01a1e135-458a-7605-b657-713607783e77','7d009effd1e1d5e3f5edecd29300c9f47b86ed2738242c0626c77d88fb297723','a prompt''s text',15,1794779727277);
CREATE TABLE "seaql_migrations" ( "version" varchar NOT NULL PRIMARY KEY, "applied_at" integer NOT NULL );
INSERT INTO "seaql_migrations" VALUES('m0001_spine',1794779727);
INSERT INTO "seaql_migrations" VALUES('m0002_turns',1794779727);
INSERT INTO "seaql_migrations" VALUES('m0003_approvals',1794779727);
CREATE TABLE session (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    state TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    updated_at BIGINT NOT NULL
);
INSERT INTO "session" VALUES('01a1e135-45a1-773e-a141-08147b2be3f7','01a1e135-458a-7605-b657-713607783e77','{"schema":1,"profile":"codex","cwd":"/project","markers":[".git"],"initial":{"files":[]},"covered_dirs":[],"loaded_versions":{}}',1,1794779727288);
CREATE TABLE thread (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    title TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('chat', 'agent')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT
);
INSERT INTO "thread" VALUES('01a1e135-45a1-773e-a141-08147b2be3f7','01a1e135-458a-7605-b657-713607783e77','a thread','agent',1794779727264,1794779727264,NULL);
INSERT INTO "thread" VALUES('01a1e135-45a2-767a-b89b-bbe10f00b596','01a1e135-458a-7605-b657-713607783e77','at the root','chat',1794779727266,1794779727266,NULL);
INSERT INTO "thread" VALUES('01a1e135-45a3-73f1-b597-74513e3a86d9','01a1e135-458a-7605-b657-713607783e77','archived','chat',1794779727267,1794779727268,1794779727268);
CREATE TABLE thread_agents_doc (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT REFERENCES folder (id),
    status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'archived')),
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    char_count BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    archived_at BIGINT,
    created_by TEXT,
    updated_by TEXT
);
INSERT INTO "thread_agents_doc" VALUES('01a1e135-4591-705e-aec1-fbef4ac72999','01a1e135-458a-7605-b657-713607783e77',NULL,'active','AGENTS.md','root, second: it''s "quoted" ✓
','3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a',30,2,1794779727248,1794779727250,NULL,'ada',NULL);
INSERT INTO "thread_agents_doc" VALUES('01a1e135-4595-7494-b2ff-9dbd9fea303f','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554','archived','AGENTS.md','one','7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',3,2,1794779727252,1794779727254,1794779727254,'ada','ada');
INSERT INTO "thread_agents_doc" VALUES('01a1e135-4598-767a-90b2-333107f0915c','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554','active','AGENTS.md','one','7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',3,4,1794779727256,1794779727257,NULL,'ada','ada');
INSERT INTO "thread_agents_doc" VALUES('01a1e135-459b-7037-bd77-1eb69c0da1c7','01a1e135-458a-7605-b657-713607783e77','01a1e135-458e-7287-8622-55de3ee67925','draft','AGENTS.md',' 
','e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700',2,1,1794779727259,1794779727259,NULL,'ada','ada');
INSERT INTO "thread_agents_doc" VALUES('01a1e135-459d-7122-85d2-0808310f69a8','01a1e135-458a-7605-b657-713607783e77','01a1e135-458f-76f2-bbea-5cdd25a2d410','archived','AGENTS.md','gone with its folder','e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d',20,2,1794779727260,1794779727262,1794779727262,'ada','ada');
CREATE TABLE thread_agents_doc_revision (
    id TEXT PRIMARY KEY,
    doc_id TEXT NOT NULL REFERENCES thread_agents_doc (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT REFERENCES folder (id),
    version BIGINT NOT NULL CHECK (version > 0),
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    char_count BIGINT NOT NULL,
    saved_at BIGINT NOT NULL,
    saved_by TEXT,
    save_reason TEXT NOT NULL CHECK (save_reason IN ('autosave', 'manual', 'archive', 'restore'))
);
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-4591-705e-aec1-fbf0a90b3436','01a1e135-4591-705e-aec1-fbef4ac72999','01a1e135-458a-7605-b657-713607783e77',NULL,1,'root, first
','8bc4dc31b92d041cd0c83348630e9dd9fa1af872f59e8131cb192721edf573f9',12,1794779727248,'ada','manual');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-4593-749d-bf80-250eb2477a0c','01a1e135-4591-705e-aec1-fbef4ac72999','01a1e135-458a-7605-b657-713607783e77',NULL,2,'root, second: it''s "quoted" ✓
','3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a',30,1794779727250,NULL,'autosave');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-4595-7494-b2ff-9dbeb9053e76','01a1e135-4595-7494-b2ff-9dbd9fea303f','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554',1,'one','7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',3,1794779727252,'ada','manual');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-4597-71d4-828e-8bacf6cd68c0','01a1e135-4595-7494-b2ff-9dbd9fea303f','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554',2,'one','7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',3,1794779727254,'ada','archive');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-4598-767a-90b2-33325642bb36','01a1e135-4598-767a-90b2-333107f0915c','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554',3,'two','3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3',3,1794779727256,'ada','manual');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-459a-777f-8a25-213889b2dcfe','01a1e135-4598-767a-90b2-333107f0915c','01a1e135-458a-7605-b657-713607783e77','01a1e135-458c-77aa-ab97-26455978f554',4,'one','7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed',3,1794779727257,'ada','restore');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-459b-7037-bd77-1eb7f23e4e7b','01a1e135-459b-7037-bd77-1eb69c0da1c7','01a1e135-458a-7605-b657-713607783e77','01a1e135-458e-7287-8622-55de3ee67925',1,' 
','e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700',2,1794779727259,'ada','autosave');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-459d-7122-85d2-080988e96a4b','01a1e135-459d-7122-85d2-0808310f69a8','01a1e135-458a-7605-b657-713607783e77','01a1e135-458f-76f2-bbea-5cdd25a2d410',1,'gone with its folder','e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d',20,1794779727260,'ada','manual');
INSERT INTO "thread_agents_doc_revision" VALUES('01a1e135-459e-701b-9001-e998eb14f92e','01a1e135-459d-7122-85d2-0808310f69a8','01a1e135-458a-7605-b657-713607783e77','01a1e135-458f-76f2-bbea-5cdd25a2d410',2,'gone with its folder','e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d',20,1794779727262,'ada','archive');
CREATE TABLE thread_context (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    through BIGINT NOT NULL CHECK (through >= 0),
    summary TEXT,
    version BIGINT NOT NULL CHECK (version > 0),
    updated_at BIGINT NOT NULL
);
INSERT INTO "thread_context" VALUES('01a1e135-45a1-773e-a141-08147b2be3f7','01a1e135-458a-7605-b657-713607783e77',0,'a summary',1,1794779727286);
CREATE TABLE thread_placement (
    thread_id TEXT PRIMARY KEY REFERENCES thread (id),
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    folder_id TEXT NOT NULL REFERENCES folder (id)
);
INSERT INTO "thread_placement" VALUES('01a1e135-45a1-773e-a141-08147b2be3f7','01a1e135-458a-7605-b657-713607783e77','01a1e135-458e-7287-8622-55de3ee67925');
CREATE TABLE turn (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    thread_id TEXT NOT NULL REFERENCES thread (id),
    ordinal BIGINT NOT NULL CHECK (ordinal > 0),
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
    input TEXT NOT NULL,
    model TEXT,
    cwd TEXT,
    error TEXT,
    usage TEXT,
    lease_owner TEXT,
    lease_expires_at BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    created_by TEXT, stop_requested_at BIGINT,
    CHECK (status <> 'running' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL)),
    CHECK ((status = 'running') = (finished_at IS NULL))
);
INSERT INTO "turn" VALUES('01a1e135-45aa-738e-9709-7c53fa3396c8','01a1e135-458a-7605-b657-713607783e77','01a1e135-45a1-773e-a141-08147b2be3f7',1,'completed','what now?','anthropic/claude','/project/src',NULL,'{"input":12,"output":3,"cached_read":4,"cached_write":0}','gateway-1',NULL,1794779727273,1794779727287,'ada',NULL);
INSERT INTO "turn" VALUES('01a1e135-45ba-775c-ab63-4d96e9d8ea6b','01a1e135-458a-7605-b657-713607783e77','01a1e135-45a1-773e-a141-08147b2be3f7',2,'failed','and then?','anthropic/claude','/project/src','{"kind":"provider_failed","message":"the provider failed","provider":"anthropic","status":503,"retryable":true}',NULL,'gateway-1',NULL,1794779727290,1794779727292,'ada',NULL);
INSERT INTO "turn" VALUES('01a1e135-45e4-7292-92a7-5e833d5531bb','01a1e135-458a-7605-b657-713607783e77','01a1e135-45a2-767a-b89b-bbe10f00b596',1,'running','still?','anthropic/claude','/project/src',NULL,NULL,'gateway-1',4000000000000,1794779727321,NULL,NULL,1794779727365);
CREATE TABLE turn_approval (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    call_id TEXT NOT NULL,
    request TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    allowed BIGINT CHECK (allowed IN (0, 1)),
    decided_at BIGINT,
    decided_by TEXT,
    PRIMARY KEY (turn_id, call_id),
    CHECK ((allowed IS NULL) = (decided_at IS NULL))
);
INSERT INTO "turn_approval" VALUES('01a1e135-458a-7605-b657-713607783e77','01a1e135-45aa-738e-9709-7c53fa3396c8','c2','{"call_id":"c2","tool":"write_file","arguments":{"path":"x"},"paths":["x"],"rule":"permissions.write = ask"}',1794779727283,4000000000000,1,1794779727284,'ada');
CREATE TABLE turn_item (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    turn_id TEXT NOT NULL REFERENCES turn (id),
    ordinal BIGINT NOT NULL CHECK (ordinal > 0),
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
INSERT INTO "turn_item" VALUES('01a1e135-45b1-767a-85ef-3809b698acf4','01a1e135-458a-7605-b657-713607783e77','01a1e135-45aa-738e-9709-7c53fa3396c8',1,'message','{"message":{"role":"user","blocks":[{"type":"text","text":"what now?"}]}}',1794779727281);
INSERT INTO "turn_item" VALUES('01a1e135-45b1-767a-85ef-380a14292885','01a1e135-458a-7605-b657-713607783e77','01a1e135-45aa-738e-9709-7c53fa3396c8',2,'message','{"message":{"role":"assistant","blocks":[{"type":"text","text":"this"}]}}',1794779727281);
CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    root_path TEXT,
    agents TEXT,
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
INSERT INTO "workspace" VALUES('01a1e135-458a-7605-b657-713607783e77','old','/project','{"enabled":true,"root":{"markers":[".git"]}}',26,1794779727242,1794779727242);
INSERT INTO "workspace" VALUES('01a1e135-458b-7088-88b3-5968c0884a39','another',NULL,NULL,1,1794779727243,1794779727243);
CREATE INDEX ix_folder_workspace ON folder (workspace_id, parent_folder_id);
CREATE INDEX ix_folder_parent ON folder (parent_folder_id);
CREATE INDEX ix_thread_workspace ON thread (workspace_id);
CREATE INDEX ix_thread_placement_workspace ON thread_placement (workspace_id);
CREATE INDEX ix_thread_placement_folder ON thread_placement (folder_id);
CREATE UNIQUE INDEX uq_thread_agents_doc_root_active ON thread_agents_doc (workspace_id)
    WHERE folder_id IS NULL AND status IN ('draft', 'active');
CREATE UNIQUE INDEX uq_thread_agents_doc_folder_active ON thread_agents_doc (workspace_id, folder_id)
    WHERE folder_id IS NOT NULL AND status IN ('draft', 'active');
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_root ON thread_agents_doc_revision (workspace_id, version)
    WHERE folder_id IS NULL;
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_folder
    ON thread_agents_doc_revision (workspace_id, folder_id, version) WHERE folder_id IS NOT NULL;
CREATE UNIQUE INDEX uq_access_token_secret ON access_token (secret_sha256);
CREATE UNIQUE INDEX uq_access_token_name ON access_token (name) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX uq_turn_thread_ordinal ON turn (thread_id, ordinal);
CREATE UNIQUE INDEX uq_turn_thread_running ON turn (thread_id) WHERE status = 'running';
CREATE INDEX ix_turn_lease ON turn (lease_expires_at) WHERE status = 'running';
CREATE UNIQUE INDEX uq_turn_item_ordinal ON turn_item (turn_id, ordinal);
CREATE INDEX ix_prompt_text_used ON prompt_text (last_used_at);
CREATE INDEX ix_prompt_text_workspace_used ON prompt_text (workspace_id, last_used_at);
CREATE INDEX ix_hook_run_turn ON hook_run (turn_id, started_at, id);
CREATE INDEX ix_hook_run_workspace_started ON hook_run (workspace_id, started_at);
CREATE INDEX ix_hook_run_started ON hook_run (started_at);
COMMIT;
