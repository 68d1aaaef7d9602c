//! The tests of the program, in one program that is linked once.
//!
//! `cargo test -p zonekeep-cli --test all mcp_http::` runs those of one file. Tests that
//! change or count what belongs to a whole process, or need quiet, have their own.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod approvers;
mod attacks;
mod caches;
mod check;
mod consent;
mod contained;
mod doctor;
mod documents;
mod examples;
mod explain;
mod explain_line;
mod explain_run;
mod faults;
mod guard_levels;
mod held_stores;
mod hosts;
mod init;
mod linked;
mod log;
mod log_why;
mod mcp;
mod mcp_again;
mod mcp_clients;
mod mcp_common;
mod mcp_gone;
mod mcp_hostile;
mod mcp_http;
mod mcp_install;
mod mcp_live;
mod mcp_looser;
mod mcp_resources;
mod mcp_rules;
mod mcp_wrap;
mod mechanisms;
mod mistakes;
mod old_bugs;
mod organisation;
mod outcomes;
mod own_home;
mod own_paths;
mod private_tmp;
mod profiles;
mod project_file;
mod quarantine;
mod replay;
mod run;
mod run_flags;
mod run_launcher;
mod run_programs;
mod run_stdio;
mod run_terminal;
mod schema;
mod second_mounts;
mod sensitive;
mod shell;
mod shell_session;
mod shown;
mod tool;
mod trust;
mod unwatched;
mod work;
mod work_commands;
