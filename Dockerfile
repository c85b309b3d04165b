# The package as npm packs it, on the dependencies of the lock file. Settings come from the environment (LAKE_URL,
# QUERY_…), jobs from /app/jobs or JOBS_DIR; no secret is in the image.
#   docker build -t vessel-export .
#   docker run --init --env-file .env -v lake:/lake -e LAKE_URL=file:///lake vessel-export run --from … --to …
FROM node:24.21.0-trixie-slim AS package
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# What the image holds of others, for scanners: /app/sbom.cdx.json.
RUN npm run sbom && npm pack && mkdir /package && tar -xzf vessel-export-*.tgz --strip-components=1 -C /package

FROM node:24.21.0-trixie-slim
# Memory that the C library keeps for each thread: a tenth of what a worker takes, unless it is told not to.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2
WORKDIR /app
COPY package.json package-lock.json ./
# No script of a dependency runs here; the one that there is would only build what is prebuilt for most systems.
# Lakes on Azure need these two, which others who install the package leave out; their versions are those of the lock file.
RUN node -e "const fs = require('fs'), file = JSON.parse(fs.readFileSync('package.json')); for (const name of Object.keys(file.peerDependencies)) { file.dependencies[name] = file.devDependencies[name]; delete file.devDependencies[name] } fs.writeFileSync('package.json', JSON.stringify(file))" \
  && npm ci --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force && rm -rf /tmp/*
COPY --from=package /package /build/sbom.cdx.json ./
# A volume that is mounted at /lake for a local lake takes over its owner.
RUN ln -s /app/src/bin.js /usr/local/bin/vessel-export && install -d -o node -g node /lake

# Compiled modules, without which every start takes longer: kept by user, so made by the one who will run them; then
# root's, so that nobody can change what is run.
RUN install -d -o node -g node node_modules/.cache
USER node
RUN vessel-export demo --lake /tmp/demo --readings-per-day 2000 >/dev/null && rm -rf /tmp/demo
USER root
RUN chown -R root:root node_modules/.cache

USER node
# Where HTTP_PORT is set, as of `schedule` and `worker`; other commands have nobody to ask.
HEALTHCHECK --interval=10s --timeout=15s --start-period=30s --retries=6 \
  CMD ["node", "-e", "const port = process.env.HTTP_PORT; if (port) fetch(`http://127.0.0.1:${port}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["vessel-export"]
CMD ["--help"]
