/*
 * bulk_error.h
 *		The errors of bulk writes.
 */
#ifndef MTS_BULK_ERROR_H
#define MTS_BULK_ERROR_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "driver/bulk.h"

extern const char *mts_bulk_error_message(const MtsBulk *bulk);
extern _Noreturn void mts_bulk_error_refuse_changed(const MtsBulk *bulk,
													const char *detail);
extern _Noreturn void mts_bulk_error_raise_failure(MtsBulk *bulk,
												   const bson_error_t *error,
												   bool outcome_is_unknown);
extern _Noreturn void mts_bulk_error_raise_refusals(const MtsBulk *bulk,
													const List *refused,
													int64 nlost, int64 npoints,
													bool is_transaction);

#endif /* MTS_BULK_ERROR_H */
