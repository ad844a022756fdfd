/*
 * zone.h
 *		The clock of a table: its time zone and PostgreSQL's to_char patterns.
 */
#ifndef MTS_ZONE_H
#define MTS_ZONE_H

#include "postgres.h"
#include "pgtime.h"

#include "core/time/clock.h"

extern pg_tz *mts_zone_find(const char *name);
extern MtsClock mts_zone_clock(const char *name);

#endif /* MTS_ZONE_H */
