/*
 * uri.h
 *		Read and check option "uri".
 */
#ifndef MTS_URI_H
#define MTS_URI_H

#include "postgres.h"

#include "mongoc/mongoc.h"

#include "core/error.h"

extern mongoc_uri_t *mts_uri_parse(const char *text, const char *username,
								   const char *password);
extern mongoc_uri_t *mts_uri_parse_alone(const char *text);
extern char *mts_uri_database(const char *text);
extern bool mts_uri_is_local(const char *text);
extern bool mts_uri_needs_password(const mongoc_uri_t *uri);
extern bool mts_uri_logs_in_by_password(const mongoc_uri_t *uri);
extern bool mts_uri_has_credentials(const char *text);
extern bool mts_uri_check(const char *text, const mongoc_uri_t *uri,
						  MtsError *error);

#endif /* MTS_URI_H */
