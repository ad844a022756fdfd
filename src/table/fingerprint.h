/*
 * fingerprint.h
 *		Numbers that tell declarations of tables apart.
 */
#ifndef MTS_FINGERPRINT_H
#define MTS_FINGERPRINT_H

#include "postgres.h"

#include "table/table.h"

extern uint64 mts_fingerprint_text(const char *name, const char *value);
extern uint64 mts_fingerprint_options(Oid relid);
extern uint64 mts_fingerprint_column(Oid relid, AttrNumber attnum);
extern uint64 mts_fingerprint_points(Oid relid);
extern uint64 mts_fingerprint_pair(uint64 of, const char *name, Oid relid,
								   AttrNumber attnum);

#endif /* MTS_FINGERPRINT_H */
