/*
 * error.h
 *		Which SQLSTATE, detail and hint is this bson_error_t?
 */
#ifndef MTS_ERROR_H
#define MTS_ERROR_H

#include "postgres.h"

#include "mongoc/mongoc.h"

extern void mts_error_raise(const char *what, const bson_error_t *error)
	pg_attribute_noreturn();

#endif /* MTS_ERROR_H */
