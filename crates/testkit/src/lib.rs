//! What tests share
