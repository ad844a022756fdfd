# mongo_ts_fdw: see README.md.  Built by PGXS; PG_CONFIG selects PostgreSQL.
#
#   make demo, check     install missing packages, build, install, show or test
#   make check-clients   the same, by JDBC, ODBC, psycopg, pandas ..
#   make bench           the same, and measure; QUICK=1 uses less data
#   make recording       the same, and record the demo for docs/images
#   make check-all       all suites, also long ones; SUITES selects some
#   make check-matrix    all tests on PostgreSQL 15 to 19, as root; VERSIONS
#                        selects versions of PostgreSQL and MongoDB
#   make check-server    the tests that fit a server of yours, with a report; URI
#                        is its URI
#   make check-packages  the results of deb, dist and the Dockerfile, as root
#   make release-check   whether the last commit can be released, as root
#   make unit, lint      fast, without a server; make format formats the code
#   make fuzz            fuzz the core with clang, FUZZ_SECONDS (12) each program
#   make deb             Debian packages for the installed PostgreSQL versions
#   make dist            an archive for PGXN

PG_CONFIG ?= pg_config
CLANG_FORMAT ?= clang-format-14
export PG_CONFIG
WARNINGS = -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers

CORE = $(sort $(wildcard src/core/*.c src/core/*/*.c src/advice/infer/*.c src/advice/check/*.c))
HFILES = $(wildcard src/*.h src/*/*.h src/*/*/*.h)

# The libraries of compressors are optional.
has = $(if $(shell pkg-config --exists $(1) 2>/dev/null && echo yes),$(2))
COMPRESS_CPPFLAGS = $(call has,zlib,-DMTS_ZLIB) $(call has,libzstd,-DMTS_ZSTD) $(call has,snappy,-DMTS_SNAPPY)
COMPRESS_LIBS = $(call has,zlib,-lz) $(call has,libzstd,-lzstd) $(call has,snappy,-lsnappy)

MODULE_big = mongo_ts_fdw
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))
EXTENSION = mongo_ts_fdw
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(EXTENSION).control)
# The parts of the install script, in the order of what they use
SCRIPT = $(patsubst %,src/%.sql,server admin/maintain admin/rollup admin/check_rollup admin/create_rollup \
	admin/refresh_rollup advice/check)
DATA = $(sort $(wildcard $(EXTENSION)--*--*.sql))
DATA_built = $(EXTENSION)--$(EXTVERSION).sql
PGFILEDESC = "mongo_ts_fdw - time-series buckets in MongoDB as flat tables"
REGRESS = $(basename $(notdir $(sort $(wildcard sql/*.sql))))
EXTRA_CLEAN = build src/*.o src/*/*.o src/*/*/*.o $(EXTENSION)--?.?.?.sql

# These targets need no PGXS: it may not be installed yet, and it has a check
# of its own.  They call make again for targets that need it.
OWN = bench check check-all check-clients check-matrix check-packages deb demo \
	check-server dist format fuzz fuzz-programs lint recording release-check release-notes unit
ifneq ($(filter $(OWN),$(MAKECMDGOALS)),)

.PHONY: $(MAKECMDGOALS)
$(filter-out $(OWN),$(MAKECMDGOALS)):
	$(MAKE) $@

bench demo: RUN = test/$@/run
bench: RUN += $(if $(ONLY),,&& test/bench/growth documents)
recording: RUN = test/demo/run record
check-server: RUN = test/server
bench: DEPS = $(if $(QUICK),,python3 python3-pip debootstrap)
check: SUITES = lint unit regress isolation tap
check-all: SUITES = lint unit regress isolation tap fuzz long clients matrix packages
check-clients: SUITES = clients
check-matrix: SUITES = matrix
check-packages: SUITES = packages
check-all check-clients: DEPS = odbc-postgresql unixodbc python3-venv default-jdk-headless maven
check-all check-matrix check-packages release-check: DEPS += debootstrap
check-all check-packages release-check: DEPS += git
release-check: all-is-committed
release-check: SUITES = lint unit regress isolation tap packages
release-check: export RELEASE = 1
check-all: export VERSIONS = 16 17 18 19 15/ferretdb 15/4.4.2 15/5.0.4 15/6.0.27 15/6.0.5x3 \
	15/like-8.0 15/like-8.3 15/like-9.0 15/like-9.0+overload debian12 debian13
CHECKS = check check-all check-clients check-matrix check-packages release-check
check-server: export MONGODB_URI := $(if $(URI),$(value URI),$(MONGODB_URI))

bench demo recording check-server $(CHECKS):
	@test/deps $(DEPS)
	@$(MAKE) -s all
	@$(SUDO) $(MAKE) -s install >/dev/null
	@$(if $(filter $(CHECKS),$@),REGRESS='$(REGRESS)' test/check $(SUITES),$(RUN))

# Installing requires sudo without write permission.  The shell tests that, as
# make would test it before test/deps has installed pg_config.
SUDO = $$(test -w "$$($(PG_CONFIG) --pkglibdir)" || echo sudo -n)

# The core doesn't use PostgreSQL.  Programs test_*.c test it, with the other
# files as helpers.
UNIT = $(patsubst test/unit/%.c,build/unit/%,$(sort $(wildcard test/unit/test_*.c)))
UNIT_HELP = $(filter-out test/unit/test_%,$(sort $(wildcard test/unit/*.c)))
UNIT_CORE = $(patsubst src/%.c,build/unit/%.o,$(CORE))
UNIT_FLAGS = -std=gnu11 -O1 -g -Isrc $(WARNINGS) $(COPT) \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined
BSON = $(shell pkg-config $(1) libbson-1.0 2>/dev/null || pkg-config $(1) bson2)

# Programs fuzz_*.c are fuzzed; unit runs each on its corpus.
FUZZ = $(patsubst test/fuzz/fuzz_%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))
FUZZ_CC ?= $(firstword $(foreach name,clang clang-19 clang-14,$(shell command -v $(name))) clang)
FUZZ_CORE = $(patsubst src/%.c,build/fuzz/%.o,$(CORE))

.SECONDARY: $(UNIT_CORE) $(FUZZ_CORE)
unit: $(UNIT) $(FUZZ:%=build/unit/replay_%)
	@for program in $(UNIT); do echo "# $$program"; $$program || status=1; done; \
	for name in $(FUZZ); do echo "# replay_$$name"; \
		build/unit/replay_$$name test/fuzz/corpus/$$name/* || status=1; done; \
	exit $${status:-0}

fuzz:
	@test/deps clang libclang-rt-14-dev
	@$(MAKE) -s fuzz-programs
	@test/fuzz/run $(FUZZ)

fuzz-programs: $(FUZZ:%=build/fuzz/fuzz_%)

# These programs need libmongoc, but neither PostgreSQL nor a server.
build/unit/test_reply build/unit/replay_reply: build/unit/driver/reply.o build/unit/driver/compress.o
build/unit/test_exchange: $(patsubst %,build/unit/driver/%.o,exchange wire reply compress)
build/fuzz/fuzz_reply: build/fuzz/driver/reply.o build/fuzz/driver/compress.o
build/unit/test_reply build/unit/test_exchange build/unit/replay_reply build/fuzz/fuzz_reply: \
	BSON = $(shell pkg-config $(1) libmongoc-1.0 2>/dev/null || pkg-config $(1) mongoc2) \
		$(if $(filter --libs,$(1)),$(COMPRESS_LIBS),$(COMPRESS_CPPFLAGS))

build/unit/%.o: src/%.c $(HFILES)
	@mkdir -p $(@D)
	$(CC) $(UNIT_FLAGS) $(call BSON,--cflags) -c $< -o $@

build/unit/%: test/unit/%.c $(UNIT_HELP) $(UNIT_CORE) $(HFILES) $(wildcard test/unit/*.h)
	$(CC) $(UNIT_FLAGS) $(call BSON,--cflags) $(filter %.c %.o,$^) $(call BSON,--libs) -lm -o $@

build/unit/replay_%: test/fuzz/fuzz_%.c test/fuzz/replay.c $(UNIT_HELP) $(UNIT_CORE) $(HFILES) \
		$(wildcard test/unit/*.h test/fuzz/*.h)
	$(CC) $(UNIT_FLAGS) -Itest/unit $(call BSON,--cflags) $(filter %.c %.o,$^) $(call BSON,--libs) -lm -o $@

build/fuzz/%.o: src/%.c $(HFILES)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(UNIT_FLAGS) -fsanitize=fuzzer-no-link $(call BSON,--cflags) -c $< -o $@

build/fuzz/fuzz_%: test/fuzz/fuzz_%.c test/fuzz/mutate.c $(UNIT_HELP) $(FUZZ_CORE) $(HFILES) \
		$(wildcard test/unit/*.h test/fuzz/*.h)
	$(FUZZ_CC) $(UNIT_FLAGS) -fsanitize=fuzzer -Itest/unit $(call BSON,--cflags) \
		$(filter-out $(if $(filter path compressed,$*),%/mutate.c),$(filter %.c %.o,$^)) \
		$(call BSON,--libs) -lm -o $@

lint format:
	test/deps $(CLANG_FORMAT)
	$(CLANG_FORMAT) $(if $(filter lint,$@),--dry-run --Werror,-i) \
		$(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] test/unit/*.[ch] test/fuzz/*.[ch] test/bench/*.[ch])
	$(if $(filter lint,$@),test/lint && $(MAKE) all && $(FOREIGN_SYMBOLS))

# Built in a copy, as debhelper creates files beside the sources.
deb: export PG_SUPPORTED_VERSIONS = installed
deb:
	test/deps build-essential debhelper fakeroot postgresql-server-dev-all
	rm -rf build/deb && mkdir -p build/deb/src
	tar -c --exclude=./build --exclude=./.git . | tar -x -C build/deb/src
	cd build/deb/src && $(MAKE) -s clean && pg_buildext updatecontrol && \
		MAKEFLAGS=-j$$(nproc) dpkg-buildpackage -us -uc -b
	rm -rf build/deb/src
	@echo 'The packages, for apt-get install:' && ls ./build/deb/*.deb

# The archive for PGXN: the last commit.
dist:
	mkdir -p build
	git archive --format zip --prefix $(EXTENSION)-$(EXTVERSION)/ \
		-o build/$(EXTENSION)-$(EXTVERSION).zip HEAD

all-is-committed:
	@test -z "$$(git status --porcelain)" || { git status; exit 1; }

# What CHANGELOG.md says of the version
release-notes:
	@awk '/^## / { is_ours = $$2 == "$(EXTVERSION)"; next } is_ours' CHANGELOG.md

# Fails if the library exports a name without the project's prefix.
FOREIGN_SYMBOLS = ! nm -D --defined-only mongo_ts_fdw.so | sed 's/.* //' | \
	grep -vE '^(mts|mongo_ts|pg_finfo_|Pg_magic_func|_PG_)'

else
MONGOC := $(shell pkg-config --exists 'libmongoc-1.0 >= 1.23' 2>/dev/null && echo libmongoc-1.0 || echo mongoc2)
# Don't warn about the driver's headers.
PG_CPPFLAGS = -Isrc -DMTS_VERSION='"$(EXTVERSION)"' $(COMPRESS_CPPFLAGS) \
	$(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(MONGOC) 2>/dev/null))
PG_CFLAGS = $(WARNINGS) -Wno-sign-compare $(call on_linux,-fno-semantic-interposition)
MONGOC_LIBS := $(shell pkg-config --libs $(MONGOC) 2>/dev/null)
SHLIB_LINK = $(MONGOC_LIBS) $(COMPRESS_LIBS) $(call on_linux,-Wl$(comma)-Bsymbolic-functions)

# Functions of the library are found when it is linked, not when a session
# loads it.
on_linux = $(if $(filter linux,$(PORTNAME)),$(1))
comma = ,

# No function here gains from being inlined by the JIT compiler.
override with_llvm = no

PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
ifneq ($(and $(PGXS),$(MONGOC_LIBS)),)
include $(PGXS)
$(OBJS): $(HFILES)
$(DATA_built): $(SCRIPT) $(EXTENSION).control Makefile
	printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit' >$@
	for part in $(SCRIPT); do echo; cat $$part || exit; done >>$@
src/mongo_ts_fdw.o src/server.o: $(EXTENSION).control
else
# Say what is missing.  Only the targets above install packages.
$(or $(MAKECMDGOALS),all):
	@echo 'mongo_ts_fdw requires the headers of a PostgreSQL server, found by $(PG_CONFIG),' >&2
	@echo 'and libmongoc 1.23 or newer, found by pkg-config.  On Debian and Ubuntu:' >&2
	@echo '  apt-get install postgresql-server-dev-all libmongoc-dev libicu-dev pkg-config gcc' >&2
	@exit 1
endif

endif
