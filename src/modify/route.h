/*
 * route.h
 *		Operations that are sent to the collections where they belong.
 */
#ifndef MTS_ROUTE_H
#define MTS_ROUTE_H

#include "driver/bulk.h"
#include "driver/seen.h"
#include "table/identity.h"

extern void mts_route_init(MtsBulk *bulk, const MtsTable *table, Oid userid);
extern void mts_route_begin(MtsBulk *bulk, MtsOp *ops, int nops);
extern void mts_route_execute(MtsBulk *bulk, MtsOp *ops, int nops);
extern bool mts_route_delete(MtsBulk *bulk, const bson_t *filter,
							 const char *collection, const MtsSeen *seen);

#endif /* MTS_ROUTE_H */
