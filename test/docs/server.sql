-- A server, as README.md creates it.
SET timezone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION mongo_ts_fdw;
RESET client_min_messages;
CREATE SERVER mms FOREIGN DATA WRAPPER mongo_ts_fdw
  OPTIONS (uri 'mongodb://127.0.0.1:27017', database 'mms');
