# Settings come from the environment (LAKE_URL, QUERY_…), jobs from /app/jobs or JOBS_DIR; no secret is in the image.
#   docker build -t vessel-export .
#   docker run --init --env-file .env -v lake:/lake -e LAKE_URL=file:///lake vessel-export run --from … --to …
FROM node:24-slim

ENV NODE_ENV=production
WORKDIR /app

COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

COPY src ./src
COPY jobs ./jobs
# A volume that is mounted here for a local lake takes over this owner.
RUN install -d -o node -g node /lake

USER node
ENTRYPOINT ["node", "/app/src/bin.js"]
CMD ["--help"]
