/*
 * view.h
 *		Raise the error of a write to a view of MongoDB.
 */
#ifndef MTS_VIEW_H
#define MTS_VIEW_H

#include "postgres.h"

#include "connection.h"

extern _Noreturn void mts_view_refuse(const char *database,
									  const char *collection);
extern void mts_view_check(MtsConnection *connection, const char *database,
						   const char *collection);

#endif /* MTS_VIEW_H */
