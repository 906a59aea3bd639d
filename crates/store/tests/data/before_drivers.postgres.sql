SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.foreword_notify_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foreword_change', NEW.workspace_id);
    RETURN NULL;
END $$;
CREATE FUNCTION public.foreword_notify_token() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foreword_token', NEW.id);
    RETURN NULL;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.access_token (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    workspace_id text,
    secret_sha256 text NOT NULL,
    created_at bigint NOT NULL,
    created_by text,
    revoked_at bigint,
    revoked_by text,
    CONSTRAINT access_token_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'editor'::text, 'reader'::text])))
);
CREATE TABLE public.change_log (
    workspace_id text NOT NULL,
    seq bigint NOT NULL,
    changed_at bigint NOT NULL,
    actor text,
    method text NOT NULL,
    params text NOT NULL
);
CREATE TABLE public.folder (
    id text NOT NULL,
    workspace_id text NOT NULL,
    parent_folder_id text,
    name text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);
CREATE TABLE public.hook_run (
    id text NOT NULL,
    workspace_id text,
    thread_id text,
    turn_id text,
    package_id text NOT NULL,
    hook_id text NOT NULL,
    subscription_id text NOT NULL,
    phase text NOT NULL,
    status text NOT NULL,
    started_at bigint NOT NULL,
    duration_us bigint NOT NULL,
    record text NOT NULL,
    CONSTRAINT hook_run_check CHECK (((workspace_id IS NOT NULL) OR ((thread_id IS NULL) AND (turn_id IS NULL))))
);
CREATE TABLE public.prompt_manifest (
    workspace_id text NOT NULL,
    turn_id text NOT NULL,
    round bigint NOT NULL,
    manifest text NOT NULL,
    fingerprint text NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT prompt_manifest_round_check CHECK ((round >= 0))
);
CREATE TABLE public.prompt_text (
    workspace_id text NOT NULL,
    sha256 text NOT NULL,
    content text NOT NULL,
    chars bigint NOT NULL,
    last_used_at bigint NOT NULL
);
CREATE TABLE public.seaql_migrations (
    version character varying NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE public.session (
    thread_id text NOT NULL,
    workspace_id text NOT NULL,
    state text NOT NULL,
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT session_version_check CHECK ((version > 0))
);
CREATE TABLE public.thread (
    id text NOT NULL,
    workspace_id text NOT NULL,
    title text NOT NULL,
    mode text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    archived_at bigint,
    CONSTRAINT thread_mode_check CHECK ((mode = ANY (ARRAY['chat'::text, 'agent'::text])))
);
CREATE TABLE public.thread_agents_doc (
    id text NOT NULL,
    workspace_id text NOT NULL,
    folder_id text,
    status text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    content_sha256 text NOT NULL,
    char_count bigint NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    archived_at bigint,
    created_by text,
    updated_by text,
    CONSTRAINT thread_agents_doc_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'archived'::text]))),
    CONSTRAINT thread_agents_doc_version_check CHECK ((version > 0))
);
CREATE TABLE public.thread_agents_doc_revision (
    id text NOT NULL,
    doc_id text NOT NULL,
    workspace_id text NOT NULL,
    folder_id text,
    version bigint NOT NULL,
    content text NOT NULL,
    content_sha256 text NOT NULL,
    char_count bigint NOT NULL,
    saved_at bigint NOT NULL,
    saved_by text,
    save_reason text NOT NULL,
    CONSTRAINT thread_agents_doc_revision_save_reason_check CHECK ((save_reason = ANY (ARRAY['autosave'::text, 'manual'::text, 'archive'::text, 'restore'::text]))),
    CONSTRAINT thread_agents_doc_revision_version_check CHECK ((version > 0))
);
CREATE TABLE public.thread_context (
    thread_id text NOT NULL,
    workspace_id text NOT NULL,
    through bigint NOT NULL,
    summary text,
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT thread_context_through_check CHECK ((through >= 0)),
    CONSTRAINT thread_context_version_check CHECK ((version > 0))
);
CREATE TABLE public.thread_placement (
    thread_id text NOT NULL,
    workspace_id text NOT NULL,
    folder_id text NOT NULL
);
CREATE TABLE public.turn (
    id text NOT NULL,
    workspace_id text NOT NULL,
    thread_id text NOT NULL,
    ordinal bigint NOT NULL,
    status text NOT NULL,
    input text NOT NULL,
    model text,
    cwd text,
    error text,
    usage text,
    lease_owner text,
    lease_expires_at bigint,
    created_at bigint NOT NULL,
    finished_at bigint,
    created_by text,
    stop_requested_at bigint,
    CONSTRAINT turn_check CHECK (((status <> 'running'::text) OR ((lease_owner IS NOT NULL) AND (lease_expires_at IS NOT NULL)))),
    CONSTRAINT turn_check1 CHECK (((status = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT turn_ordinal_check CHECK ((ordinal > 0)),
    CONSTRAINT turn_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE TABLE public.turn_approval (
    workspace_id text NOT NULL,
    turn_id text NOT NULL,
    call_id text NOT NULL,
    request text NOT NULL,
    requested_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    allowed bigint,
    decided_at bigint,
    decided_by text,
    CONSTRAINT turn_approval_allowed_check CHECK ((allowed = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT turn_approval_check CHECK (((allowed IS NULL) = (decided_at IS NULL)))
);
CREATE TABLE public.turn_item (
    id text NOT NULL,
    workspace_id text NOT NULL,
    turn_id text NOT NULL,
    ordinal bigint NOT NULL,
    kind text NOT NULL,
    content text NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT turn_item_ordinal_check CHECK ((ordinal > 0))
);
CREATE TABLE public.workspace (
    id text NOT NULL,
    name text NOT NULL,
    root_path text,
    agents text,
    seq bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
INSERT INTO public.access_token VALUES ('01a1e135-793e-75ce-b082-c1691f2ff8d7', 'owner', 'owner', NULL, '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b', 1794779740478, NULL, NULL, NULL);
INSERT INTO public.access_token VALUES ('01a1e135-795d-7266-8901-ad3e97f10619', 'ci', 'reader', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', 'bd4106123e659e259c401119d0c7ef0a221df306a5a414b6fb6a579499962d26', 1794779740509, 'ada', 1794779740511, 'ada');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 1, 1794779740377, 'ada', 'thread/tree/changed', '{"seq":1,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"workspace_created"}');
INSERT INTO public.change_log VALUES ('01a1e135-78db-727d-9a99-df7ab5bdba55', 1, 1794779740380, NULL, 'thread/tree/changed', '{"seq":1,"workspace_id":"01a1e135-78db-727d-9a99-df7ab5bdba55","reason":"workspace_created"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 2, 1794779740390, 'ada', 'thread/tree/changed', '{"seq":2,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"folder_created","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 3, 1794779740393, 'ada', 'thread/tree/changed', '{"seq":3,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"folder_created","folder_id":"01a1e135-78ea-7049-8bcd-8232e6b0616c"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 4, 1794779740401, 'ada', 'thread/tree/changed', '{"seq":4,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"folder_created","folder_id":"01a1e135-78f1-7342-ab6b-608c51dbef8f"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 5, 1794779740403, 'ada', 'thread/agents_doc/changed', '{"seq":5,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","summary":{"id":"01a1e135-78f9-7076-af8d-9efd5c23ebaf","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","status":"active","content_sha256":"8bc4dc31b92d041cd0c83348630e9dd9fa1af872f59e8131cb192721edf573f9","version":1,"char_count":12,"updated_at":"2026-11-15T21:55:40.403Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 6, 1794779740414, NULL, 'thread/agents_doc/changed', '{"seq":6,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","summary":{"id":"01a1e135-78f9-7076-af8d-9efd5c23ebaf","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","status":"active","content_sha256":"3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a","version":2,"char_count":30,"updated_at":"2026-11-15T21:55:40.414Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 7, 1794779740418, 'ada', 'thread/agents_doc/changed', '{"seq":7,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","summary":{"id":"01a1e135-7904-7443-89d6-0a5c59b1f765","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","status":"active","content_sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","version":1,"char_count":3,"updated_at":"2026-11-15T21:55:40.418Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 8, 1794779740423, 'ada', 'thread/agents_doc/changed', '{"seq":8,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 9, 1794779740427, 'ada', 'thread/agents_doc/changed', '{"seq":9,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","summary":{"id":"01a1e135-790d-70f0-bc3a-1c6c6833c971","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","status":"active","content_sha256":"3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3","version":3,"char_count":3,"updated_at":"2026-11-15T21:55:40.427Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 10, 1794779740431, 'ada', 'thread/agents_doc/changed', '{"seq":10,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","summary":{"id":"01a1e135-790d-70f0-bc3a-1c6c6833c971","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78e6-7536-829a-387dad2a4ff3","status":"active","content_sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","version":4,"char_count":3,"updated_at":"2026-11-15T21:55:40.431Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 11, 1794779740434, 'ada', 'thread/agents_doc/changed', '{"seq":11,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78ea-7049-8bcd-8232e6b0616c","summary":{"id":"01a1e135-7913-765b-b711-49701ba05493","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78ea-7049-8bcd-8232e6b0616c","status":"draft","content_sha256":"e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700","version":1,"char_count":2,"updated_at":"2026-11-15T21:55:40.434Z"},"effective_changed":false}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 12, 1794779740437, 'ada', 'thread/agents_doc/changed', '{"seq":12,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78f1-7342-ab6b-608c51dbef8f","summary":{"id":"01a1e135-7917-71d7-9654-09d0b6953ac7","workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78f1-7342-ab6b-608c51dbef8f","status":"active","content_sha256":"e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d","version":1,"char_count":20,"updated_at":"2026-11-15T21:55:40.437Z"},"effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 13, 1794779740445, 'ada', 'thread/agents_doc/changed', '{"seq":13,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","folder_id":"01a1e135-78f1-7342-ab6b-608c51dbef8f","effective_changed":true}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 14, 1794779740445, 'ada', 'thread/tree/changed', '{"seq":14,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"folder_deleted","folder_id":"01a1e135-78f1-7342-ab6b-608c51dbef8f"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 15, 1794779740460, 'ada', 'thread/tree/changed', '{"seq":15,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"thread_created","folder_id":"01a1e135-78ea-7049-8bcd-8232e6b0616c","thread_id":"01a1e135-792d-72c4-af3e-43614273770d"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 16, 1794779740464, NULL, 'thread/tree/changed', '{"seq":16,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"thread_created","thread_id":"01a1e135-7930-73fd-add1-a07c54b39be0"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 17, 1794779740469, NULL, 'thread/tree/changed', '{"seq":17,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"thread_created","thread_id":"01a1e135-7935-7774-af71-adf5502b949f"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 18, 1794779740475, 'ada', 'thread/tree/changed', '{"seq":18,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","reason":"thread_archived","thread_id":"01a1e135-7935-7774-af71-adf5502b949f"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 19, 1794779740513, 'ada', 'turn/started', '{"seq":19,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 20, 1794779740553, 'ada', 'turn/manifest', '{"seq":20,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4","round":1}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 21, 1794779740569, 'ada', 'turn/tool_started', '{"seq":21,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4","call_id":"c1","tool":"read_file"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 22, 1794779740579, 'ada', 'turn/approval_requested', '{"seq":22,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4","call_id":"c2","tool":"write_file"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 23, 1794779740629, 'ada', 'turn/completed', '{"seq":23,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 24, 1794779740634, 'ada', 'turn/started', '{"seq":24,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-79db-72d3-a6c5-734fbd240591"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 25, 1794779740649, NULL, 'turn/failed', '{"seq":25,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-79db-72d3-a6c5-734fbd240591"}');
INSERT INTO public.change_log VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 26, 1794779740660, NULL, 'turn/started', '{"seq":26,"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-7930-73fd-add1-a07c54b39be0","turn_id":"01a1e135-7a08-756e-8b3d-393fb0b0b332"}');
INSERT INTO public.folder VALUES ('01a1e135-78e6-7536-829a-387dad2a4ff3', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', NULL, 'top', 1794779740390, 1794779740390, NULL);
INSERT INTO public.folder VALUES ('01a1e135-78ea-7049-8bcd-8232e6b0616c', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 'inner', 1794779740393, 1794779740393, NULL);
INSERT INTO public.folder VALUES ('01a1e135-78f1-7342-ab6b-608c51dbef8f', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', NULL, 'gone', 1794779740401, 1794779740445, 1794779740445);
INSERT INTO public.hook_run VALUES ('01a1e135-7981-70fc-ba21-4dd1cac36589', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-792d-72c4-af3e-43614273770d', '01a1e135-7963-7179-8ea0-53fc6e7575c4', 'p', 'h', 's', 'turn.pre_prompt_compile', 'completed', 1794779740517, 12, '{"workspace_id":"01a1e135-78d5-76eb-8e5a-3530c0467ad0","thread_id":"01a1e135-792d-72c4-af3e-43614273770d","turn_id":"01a1e135-7963-7179-8ea0-53fc6e7575c4","package_id":"p","hook_id":"h","subscription_id":"s","phase":"turn.pre_prompt_compile","execution":"blocking","failure":"fail_closed","visibility":"internal","started_at_ms":1794779740517,"duration_us":12,"status":"completed","contributions":{"prompt_section":1},"refused":0,"bytes":9,"error_preview":null}');
INSERT INTO public.prompt_manifest VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-7963-7179-8ea0-53fc6e7575c4', 1, '{"compiler_version":"1.1","profile":"full","sections":[],"fingerprints":{"stable":"s1","session":"s2","turn":"t1","dynamic":"d1","full":"f1"},"diagnostics":[],"hook_sources":[]}', 'f1', 1794779740555);
INSERT INTO public.prompt_text VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', '33a7b215065f2ee8635efb72620bc269a1efb889ba3026560334da7366742374', 'another
', 8, 1794779740549);
INSERT INTO public.prompt_text VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', '7d009effd1e1d5e3f5edecd29300c9f47b86ed2738242c0626c77d88fb297723', 'a prompt''s text', 15, 1794779740549);
INSERT INTO public.seaql_migrations VALUES ('m0001_spine', 1794779740);
INSERT INTO public.seaql_migrations VALUES ('m0002_turns', 1794779740);
INSERT INTO public.seaql_migrations VALUES ('m0003_approvals', 1794779740);
INSERT INTO public.session VALUES ('01a1e135-792d-72c4-af3e-43614273770d', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '{"schema":1,"profile":"codex","cwd":"/project","markers":[".git"],"initial":{"files":[]},"covered_dirs":[],"loaded_versions":{}}', 1, 1794779740631);
INSERT INTO public.thread VALUES ('01a1e135-792d-72c4-af3e-43614273770d', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', 'a thread', 'agent', 1794779740460, 1794779740460, NULL);
INSERT INTO public.thread VALUES ('01a1e135-7930-73fd-add1-a07c54b39be0', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', 'at the root', 'chat', 1794779740464, 1794779740464, NULL);
INSERT INTO public.thread VALUES ('01a1e135-7935-7774-af71-adf5502b949f', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', 'archived', 'chat', 1794779740469, 1794779740475, 1794779740475);
INSERT INTO public.thread_agents_doc VALUES ('01a1e135-78f9-7076-af8d-9efd5c23ebaf', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', NULL, 'active', 'AGENTS.md', 'root, second: it''s "quoted" ✓
', '3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a', 30, 2, 1794779740403, 1794779740414, NULL, 'ada', NULL);
INSERT INTO public.thread_agents_doc VALUES ('01a1e135-7904-7443-89d6-0a5c59b1f765', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 'archived', 'AGENTS.md', 'one', '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed', 3, 2, 1794779740418, 1794779740423, 1794779740423, 'ada', 'ada');
INSERT INTO public.thread_agents_doc VALUES ('01a1e135-790d-70f0-bc3a-1c6c6833c971', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 'active', 'AGENTS.md', 'one', '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed', 3, 4, 1794779740427, 1794779740431, NULL, 'ada', 'ada');
INSERT INTO public.thread_agents_doc VALUES ('01a1e135-7913-765b-b711-49701ba05493', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78ea-7049-8bcd-8232e6b0616c', 'draft', 'AGENTS.md', ' 
', 'e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700', 2, 1, 1794779740434, 1794779740434, NULL, 'ada', 'ada');
INSERT INTO public.thread_agents_doc VALUES ('01a1e135-7917-71d7-9654-09d0b6953ac7', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78f1-7342-ab6b-608c51dbef8f', 'archived', 'AGENTS.md', 'gone with its folder', 'e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d', 20, 2, 1794779740437, 1794779740445, 1794779740445, 'ada', 'ada');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-78fa-7057-9ed2-af2f60a7a178', '01a1e135-78f9-7076-af8d-9efd5c23ebaf', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', NULL, 1, 'root, first
', '8bc4dc31b92d041cd0c83348630e9dd9fa1af872f59e8131cb192721edf573f9', 12, 1794779740403, 'ada', 'manual');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7900-77d9-9cf1-3b52ec7be9a5', '01a1e135-78f9-7076-af8d-9efd5c23ebaf', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', NULL, 2, 'root, second: it''s "quoted" ✓
', '3e2d7c7fa5abab5c55181b1e16df991e4ab57935e13f09a37dbe5c5535bc1f1a', 30, 1794779740414, NULL, 'autosave');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7905-7591-baf7-b740c9222c6e', '01a1e135-7904-7443-89d6-0a5c59b1f765', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 1, 'one', '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed', 3, 1794779740418, 'ada', 'manual');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7909-7100-8c3a-2a710a2070e4', '01a1e135-7904-7443-89d6-0a5c59b1f765', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 2, 'one', '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed', 3, 1794779740423, 'ada', 'archive');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-790d-70f0-bc3a-1c6dfce2badb', '01a1e135-790d-70f0-bc3a-1c6c6833c971', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 3, 'two', '3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3', 3, 1794779740427, 'ada', 'manual');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7911-7433-927c-a91ebd8ba548', '01a1e135-790d-70f0-bc3a-1c6c6833c971', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78e6-7536-829a-387dad2a4ff3', 4, 'one', '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed', 3, 1794779740431, 'ada', 'restore');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7914-7362-b934-8d54c41c39d6', '01a1e135-7913-765b-b711-49701ba05493', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78ea-7049-8bcd-8232e6b0616c', 1, ' 
', 'e16f1596201850fd4a63680b27f603cb64e67176159be3d8ed78a4403fdb1700', 2, 1794779740434, 'ada', 'autosave');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-7917-71d7-9654-09d1ae742de1', '01a1e135-7917-71d7-9654-09d0b6953ac7', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78f1-7342-ab6b-608c51dbef8f', 1, 'gone with its folder', 'e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d', 20, 1794779740437, 'ada', 'manual');
INSERT INTO public.thread_agents_doc_revision VALUES ('01a1e135-791f-737d-a07a-6b66dfa13577', '01a1e135-7917-71d7-9654-09d0b6953ac7', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78f1-7342-ab6b-608c51dbef8f', 2, 'gone with its folder', 'e01e2b2e6db425aac4acc319e4df641ea4d4002748d3a73781d0068e812e509d', 20, 1794779740445, 'ada', 'archive');
INSERT INTO public.thread_context VALUES ('01a1e135-792d-72c4-af3e-43614273770d', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', 0, 'a summary', 1, 1794779740625);
INSERT INTO public.thread_placement VALUES ('01a1e135-792d-72c4-af3e-43614273770d', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-78ea-7049-8bcd-8232e6b0616c');
INSERT INTO public.turn VALUES ('01a1e135-7963-7179-8ea0-53fc6e7575c4', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-792d-72c4-af3e-43614273770d', 1, 'completed', 'what now?', 'anthropic/claude', '/project/src', NULL, '{"input":12,"output":3,"cached_read":4,"cached_write":0}', 'gateway-1', NULL, 1794779740513, 1794779740629, 'ada', NULL);
INSERT INTO public.turn VALUES ('01a1e135-79db-72d3-a6c5-734fbd240591', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-792d-72c4-af3e-43614273770d', 2, 'failed', 'and then?', 'anthropic/claude', '/project/src', '{"kind":"provider_failed","message":"the provider failed","provider":"anthropic","status":503,"retryable":true}', NULL, 'gateway-1', NULL, 1794779740634, 1794779740649, 'ada', NULL);
INSERT INTO public.turn VALUES ('01a1e135-7a08-756e-8b3d-393fb0b0b332', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-7930-73fd-add1-a07c54b39be0', 1, 'running', 'still?', 'anthropic/claude', '/project/src', NULL, NULL, 'gateway-1', 4000000000000, 1794779740660, NULL, NULL, 1794779740694);
INSERT INTO public.turn_approval VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-7963-7179-8ea0-53fc6e7575c4', 'c2', '{"call_id":"c2","tool":"write_file","arguments":{"path":"x"},"paths":["x"],"rule":"permissions.write = ask"}', 1794779740581, 4000000000000, 1, 1794779740598, 'ada');
INSERT INTO public.turn_item VALUES ('01a1e135-799d-71d5-8af3-0d1399993925', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-7963-7179-8ea0-53fc6e7575c4', 1, 'message', '{"message":{"role":"user","blocks":[{"type":"text","text":"what now?"}]}}', 1794779740573);
INSERT INTO public.turn_item VALUES ('01a1e135-799d-71d5-8af3-0d144b594104', '01a1e135-78d5-76eb-8e5a-3530c0467ad0', '01a1e135-7963-7179-8ea0-53fc6e7575c4', 2, 'message', '{"message":{"role":"assistant","blocks":[{"type":"text","text":"this"}]}}', 1794779740573);
INSERT INTO public.workspace VALUES ('01a1e135-78db-727d-9a99-df7ab5bdba55', 'another', NULL, NULL, 1, 1794779740380, 1794779740380);
INSERT INTO public.workspace VALUES ('01a1e135-78d5-76eb-8e5a-3530c0467ad0', 'old', '/project', '{"enabled":true,"root":{"markers":[".git"]}}', 26, 1794779740377, 1794779740377);
ALTER TABLE ONLY public.access_token
    ADD CONSTRAINT access_token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_log
    ADD CONSTRAINT change_log_pkey PRIMARY KEY (workspace_id, seq);
ALTER TABLE ONLY public.folder
    ADD CONSTRAINT folder_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hook_run
    ADD CONSTRAINT hook_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.prompt_manifest
    ADD CONSTRAINT prompt_manifest_pkey PRIMARY KEY (turn_id, round);
ALTER TABLE ONLY public.prompt_text
    ADD CONSTRAINT prompt_text_pkey PRIMARY KEY (workspace_id, sha256);
ALTER TABLE ONLY public.seaql_migrations
    ADD CONSTRAINT seaql_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (thread_id);
ALTER TABLE ONLY public.thread_agents_doc
    ADD CONSTRAINT thread_agents_doc_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.thread_agents_doc_revision
    ADD CONSTRAINT thread_agents_doc_revision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.thread_context
    ADD CONSTRAINT thread_context_pkey PRIMARY KEY (thread_id);
ALTER TABLE ONLY public.thread
    ADD CONSTRAINT thread_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.thread_placement
    ADD CONSTRAINT thread_placement_pkey PRIMARY KEY (thread_id);
ALTER TABLE ONLY public.turn_approval
    ADD CONSTRAINT turn_approval_pkey PRIMARY KEY (turn_id, call_id);
ALTER TABLE ONLY public.turn_item
    ADD CONSTRAINT turn_item_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT turn_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workspace
    ADD CONSTRAINT workspace_pkey PRIMARY KEY (id);
CREATE INDEX ix_folder_parent ON public.folder USING btree (parent_folder_id);
CREATE INDEX ix_folder_workspace ON public.folder USING btree (workspace_id, parent_folder_id);
CREATE INDEX ix_hook_run_started ON public.hook_run USING btree (started_at);
CREATE INDEX ix_hook_run_turn ON public.hook_run USING btree (turn_id, started_at, id);
CREATE INDEX ix_hook_run_workspace_started ON public.hook_run USING btree (workspace_id, started_at);
CREATE INDEX ix_prompt_text_used ON public.prompt_text USING btree (last_used_at);
CREATE INDEX ix_prompt_text_workspace_used ON public.prompt_text USING btree (workspace_id, last_used_at);
CREATE INDEX ix_thread_placement_folder ON public.thread_placement USING btree (folder_id);
CREATE INDEX ix_thread_placement_workspace ON public.thread_placement USING btree (workspace_id);
CREATE INDEX ix_thread_workspace ON public.thread USING btree (workspace_id);
CREATE INDEX ix_turn_lease ON public.turn USING btree (lease_expires_at) WHERE (status = 'running'::text);
CREATE UNIQUE INDEX uq_access_token_name ON public.access_token USING btree (name) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX uq_access_token_secret ON public.access_token USING btree (secret_sha256);
CREATE UNIQUE INDEX uq_thread_agents_doc_folder_active ON public.thread_agents_doc USING btree (workspace_id, folder_id) WHERE ((folder_id IS NOT NULL) AND (status = ANY (ARRAY['draft'::text, 'active'::text])));
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_folder ON public.thread_agents_doc_revision USING btree (workspace_id, folder_id, version) WHERE (folder_id IS NOT NULL);
CREATE UNIQUE INDEX uq_thread_agents_doc_revision_root ON public.thread_agents_doc_revision USING btree (workspace_id, version) WHERE (folder_id IS NULL);
CREATE UNIQUE INDEX uq_thread_agents_doc_root_active ON public.thread_agents_doc USING btree (workspace_id) WHERE ((folder_id IS NULL) AND (status = ANY (ARRAY['draft'::text, 'active'::text])));
CREATE UNIQUE INDEX uq_turn_item_ordinal ON public.turn_item USING btree (turn_id, ordinal);
CREATE UNIQUE INDEX uq_turn_thread_ordinal ON public.turn USING btree (thread_id, ordinal);
CREATE UNIQUE INDEX uq_turn_thread_running ON public.turn USING btree (thread_id) WHERE (status = 'running'::text);
CREATE TRIGGER access_token_notify AFTER UPDATE ON public.access_token FOR EACH ROW EXECUTE FUNCTION public.foreword_notify_token();
CREATE TRIGGER change_log_notify AFTER INSERT ON public.change_log FOR EACH ROW EXECUTE FUNCTION public.foreword_notify_change();
ALTER TABLE ONLY public.access_token
    ADD CONSTRAINT access_token_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.change_log
    ADD CONSTRAINT change_log_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.folder
    ADD CONSTRAINT folder_parent_folder_id_fkey FOREIGN KEY (parent_folder_id) REFERENCES public.folder(id);
ALTER TABLE ONLY public.folder
    ADD CONSTRAINT folder_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.hook_run
    ADD CONSTRAINT hook_run_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.thread(id);
ALTER TABLE ONLY public.hook_run
    ADD CONSTRAINT hook_run_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.hook_run
    ADD CONSTRAINT hook_run_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.prompt_manifest
    ADD CONSTRAINT prompt_manifest_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.prompt_manifest
    ADD CONSTRAINT prompt_manifest_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.prompt_text
    ADD CONSTRAINT prompt_text_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.thread(id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT session_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.thread_agents_doc
    ADD CONSTRAINT thread_agents_doc_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES public.folder(id);
ALTER TABLE ONLY public.thread_agents_doc_revision
    ADD CONSTRAINT thread_agents_doc_revision_doc_id_fkey FOREIGN KEY (doc_id) REFERENCES public.thread_agents_doc(id);
ALTER TABLE ONLY public.thread_agents_doc_revision
    ADD CONSTRAINT thread_agents_doc_revision_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES public.folder(id);
ALTER TABLE ONLY public.thread_agents_doc_revision
    ADD CONSTRAINT thread_agents_doc_revision_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.thread_agents_doc
    ADD CONSTRAINT thread_agents_doc_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.thread_context
    ADD CONSTRAINT thread_context_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.thread(id);
ALTER TABLE ONLY public.thread_context
    ADD CONSTRAINT thread_context_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.thread_placement
    ADD CONSTRAINT thread_placement_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES public.folder(id);
ALTER TABLE ONLY public.thread_placement
    ADD CONSTRAINT thread_placement_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.thread(id);
ALTER TABLE ONLY public.thread_placement
    ADD CONSTRAINT thread_placement_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.thread
    ADD CONSTRAINT thread_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.turn_approval
    ADD CONSTRAINT turn_approval_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.turn_approval
    ADD CONSTRAINT turn_approval_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.turn_item
    ADD CONSTRAINT turn_item_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.turn_item
    ADD CONSTRAINT turn_item_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT turn_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES public.thread(id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT turn_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspace(id);
