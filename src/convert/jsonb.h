/*
 * jsonb.h
 *		Conversion of BSON values to jsonb without their text.
 */
#ifndef MTS_JSONB_H
#define MTS_JSONB_H

#include "postgres.h"

#include "core/bson/element.h"

extern bool mts_jsonb_of(const MtsElement *element, Datum *value);

#endif /* MTS_JSONB_H */
