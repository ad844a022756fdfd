/*
 * zip.c
 *		Join the points of several containers of a bucket by their slots.
 *
 * The elements of the least slot make the next point.  Elements of arrays and
 * of compressed columns come in the order of their slots, so each container is
 * read when its next element is needed.  Keys of subdocuments can come in any
 * order: the points of each container are collected and sorted first.  The
 * memory is reused from bucket to bucket.
 */
#include "core/bucket/zip.h"

#include <stdlib.h>
#include <string.h>

/* The next point of a container, whose slots the walk has */
struct MtsZipHead
{
	enum
	{
		HEAD_UNREAD,
		HEAD_READ,
		HEAD_END
	} state;
	MtsElement element;
};

/* A collected point of one container */
typedef struct Item
{
	MtsTime time;
	MtsElement element;
	int nslots;
	MtsSlotKey slots[MTS_MAX_SLOTS];
} Item;

struct MtsZipList
{
	Item *items;
	size_t n;
	size_t room;
	size_t next;
};

static bool
comes_in_order(const MtsLayout *layout)
{
	for (int i = 0; i < layout->nslots; i++)
		if (!mts_path_step_is_array(layout->slots[i]))
			return false;
	return true;
}

/* mts_zip_init: prepare to zip the containers of these walks. */
void
mts_zip_init(MtsZip *zip, MtsWalk *walks, int n, const MtsArena *arena)
{
	zip->n = n;
	zip->walks = walks;
	zip->arena = arena;
	zip->heads = NULL;
	zip->lists = NULL;
	if (comes_in_order(walks[0].layout))
	{
		zip->heads = mts_arena_allocate(arena, n * sizeof(struct MtsZipHead));
		return;
	}
	zip->lists = mts_arena_allocate(arena, n * sizeof(struct MtsZipList));
	for (int i = 0; i < n; i++)
	{
		zip->lists[i].room = 64;
		zip->lists[i].items =
			mts_arena_allocate(arena, zip->lists[i].room * sizeof(Item));
	}
}

/* mts_zip_start: begin with a bucket whose walks have been started. */
void
mts_zip_start(MtsZip *zip)
{
	zip->collecting = 0;
	for (int i = 0; i < zip->n; i++)
		if (zip->heads)
			zip->heads[i].state = HEAD_UNREAD;
		else
			zip->lists[i].n = zip->lists[i].next = 0;
}

/* ---- Containers whose points come in order ----------------------------- */

/* Order the current slots of two walks. */
static int
compare_indexes(const MtsWalk *a, const MtsWalk *b)
{
	for (int i = 0; i < a->layout->nslots; i++)
	{
		int64_t left = a->levels[i].key.index;
		int64_t right = b->levels[i].key.index;

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

/* Read the next point of each container that has none; false if invalid. */
static bool
read_heads(MtsZip *zip)
{
	for (int i = 0; i < zip->n; i++)
	{
		struct MtsZipHead *head = &zip->heads[i];

		if (head->state != HEAD_UNREAD)
			continue;
		switch (mts_walk_next(&zip->walks[i], &head->element))
		{
			case MTS_POINT:
				head->state = HEAD_READ;
				break;
			case MTS_DONE:
				head->state = HEAD_END;
				break;
			case MTS_INVALID:
				return false;
		}
	}
	return true;
}

/* The container whose next point has the least slot; NULL at the end */
static const MtsWalk *
least_walk(const MtsZip *zip)
{
	const MtsWalk *least = NULL;

	for (int i = 0; i < zip->n; i++)
		if (zip->heads[i].state == HEAD_READ &&
			(!least || compare_indexes(&zip->walks[i], least) < 0))
			least = &zip->walks[i];
	return least;
}

/*
 * Check that no compressed column has ended before this slot: all columns of a
 * bucket have as many entries.  Otherwise end the bucket.
 */
static bool
has_all_entries(MtsZip *zip, const MtsWalk *least)
{
	const MtsWalk *shorter = NULL;

	for (int i = 0; i < zip->n; i++)
		if (zip->walks[i].levels[0].is_compressed &&
			zip->walks[i].levels[0].next_index <= least->levels[0].key.index)
			shorter = &zip->walks[i];
	if (!shorter)
		return true;
	for (int i = 0; i < zip->n; i++)
		zip->heads[i].state = HEAD_END;
	mts_path_dotted(shorter->container->path->steps,
					mts_path_leading_names(shorter->container->path),
					shorter->invalid->where, sizeof(shorter->invalid->where));
	return mts_error_set(
		&shorter->invalid->error, NULL,
		"The compressed column has fewer entries than another one.");
}

static MtsUnfolded
next_in_order(MtsZip *zip, MtsPoint *point)
{
	const MtsWalk *least;

	if (!read_heads(zip))
		return MTS_INVALID;
	least = least_walk(zip);
	if (!least)
		return MTS_DONE;
	if (!has_all_entries(zip, least))
		return MTS_INVALID;
	point->time = mts_walk_time(least);
	mts_walk_slots(least, point->slots);
	for (int i = 0; i < zip->n; i++)
	{
		struct MtsZipHead *head = &zip->heads[i];

		if (head->state == HEAD_READ &&
			compare_indexes(&zip->walks[i], least) == 0)
		{
			point->elements[i] = head->element;
			head->state = HEAD_UNREAD;
		}
		else
			point->elements[i].type = 0;
	}
	return MTS_POINT;
}

/* ---- Containers whose points come in any order ------------------------- */

/* Order slots level by level: by index or, in a {column} slot, by text. */
static int
compare_items(const void *left, const void *right)
{
	const Item *item = left;
	const MtsSlotKey *a = item->slots;
	const MtsSlotKey *b = ((const Item *) right)->slots;

	for (int i = 0; i < item->nslots; i++)
	{
		if (a[i].index != b[i].index)
			return a[i].index < b[i].index ? -1 : 1;
		if (a[i].text)
		{
			int order = strcmp(a[i].text, b[i].text);

			if (order != 0)
				return order;
		}
	}
	return 0;
}

static Item *
add_item(MtsZip *zip, struct MtsZipList *list)
{
	if (list->n == list->room)
	{
		size_t size = list->room * sizeof(Item);

		list->room *= 2;
		list->items = mts_arena_grow(zip->arena, list->items, size, 2 * size);
	}
	return &list->items[list->n++];
}

/*
 * Collect and sort the points of each container.  False at an invalid one; the
 * next call continues after it.
 */
static bool
collect(MtsZip *zip)
{
	MtsElement element;

	for (; zip->collecting < zip->n; zip->collecting++)
	{
		MtsWalk *walk = &zip->walks[zip->collecting];
		struct MtsZipList *list = &zip->lists[zip->collecting];
		bool sorted = true;
		MtsUnfolded result;

		while ((result = mts_walk_next(walk, &element)) == MTS_POINT)
		{
			Item *item = add_item(zip, list);

			item->time = mts_walk_time(walk);
			item->element = element;
			item->nslots = walk->layout->nslots;
			mts_walk_slots(walk, item->slots);
		}
		if (result == MTS_INVALID)
			return false;
		for (size_t i = 1; i < list->n && sorted; i++)
			sorted = compare_items(&list->items[i - 1], &list->items[i]) <= 0;
		if (!sorted)
			qsort(list->items, list->n, sizeof(Item), compare_items);
	}
	return true;
}

static const Item *
next_item(const MtsZip *zip, int container)
{
	const struct MtsZipList *list = &zip->lists[container];

	return list->next < list->n ? &list->items[list->next] : NULL;
}

/*
 * mts_zip_next
 *		Find the next point: the elements that the containers have in the least
 *		slot.
 */
MtsUnfolded
mts_zip_next(MtsZip *zip, MtsPoint *point)
{
	const Item *least = NULL;
	const Item *item;

	if (zip->heads)
		return next_in_order(zip, point);
	if (!collect(zip))
		return MTS_INVALID;
	for (int i = 0; i < zip->n; i++)
	{
		item = next_item(zip, i);
		if (item && (!least || compare_items(item, least) < 0))
			least = item;
	}
	if (!least)
		return MTS_DONE;
	point->time = least->time;
	memcpy(point->slots, least->slots, least->nslots * sizeof(MtsSlotKey));
	for (int i = 0; i < zip->n; i++)
	{
		item = next_item(zip, i);
		if (item && compare_items(item, least) == 0)
		{
			point->elements[i] = item->element;
			zip->lists[i].next++;
		}
		else
			point->elements[i].type = 0;
	}
	return MTS_POINT;
}
