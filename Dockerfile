# The tags name versions, because digests differ by platform. For production, pin the digests that you have checked.
FROM node:26.10.0-trixie-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
# The image below has no shell, so env runs lib/petstore.js by its first line. It lacks libatomic, which Node needs.
RUN npm run build \
  && mkdir -p /system/usr/bin /system/usr/lib /system/usr/local/bin /data \
  && cp /usr/bin/env /system/usr/bin/ \
  && cp /usr/lib/*-linux-gnu/libatomic.so.1 /system/usr/lib/ \
  && cp /usr/local/bin/node /system/usr/local/bin/ \
  && ln -s /app/lib/petstore.js /system/usr/local/bin/petstore \
  && mkdir dist/node_modules \
  && cp -r node_modules/better-sqlite3 dist/node_modules/

FROM gcr.io/distroless/cc-debian13:nonroot
LABEL org.opencontainers.image.title="Petstore Inventory" \
  org.opencontainers.image.description="Stock inventory for a pet store, over REST, Connect and gRPC" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /system/ /
COPY --from=build /build/dist /app
COPY --from=build --chown=65532:65532 /data /data
# The flags are those of bin/petstore, which needs a shell, as far as this variable may have them. The first line of
# lib/petstore.js has --no-maglev.
ENV NODE_OPTIONS="--max-semi-space-size=32 --expose-gc"
ENV PETSTORE_DATABASE=sqlite:/data/petstore.db PETSTORE_HOST=0.0.0.0 PETSTORE_OPS_HOST=0.0.0.0
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["petstore", "status"]
ENTRYPOINT ["petstore"]
CMD ["serve"]
