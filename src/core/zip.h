/*
 * zip.h
 *		Which points do several containers of this bucket have together?
 */
#ifndef MTS_ZIP_H
#define MTS_ZIP_H

#include "core/unfold.h"

extern void mts_zip_init(MtsUnfold *unfold, int container);
extern MtsUnfolded mts_zip_next(MtsUnfold *unfold, MtsPoint *point);

#endif /* MTS_ZIP_H */
