# The tags name versions, since digests differ by platform: pin those that you have checked when you build for production.
FROM node:26.10.0-trixie-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# Node is the one that the lockfile names, and that the tests have run on; the base image lacks the libatomic that it
# wants. env reads the first line of bin/petstore.js, where Node's flags stand.
RUN npm run prepack \
  && mkdir -p /system/usr/bin /system/usr/lib /system/usr/local/bin /data \
  && cp /usr/bin/env /system/usr/bin/ \
  && cp /usr/lib/*-linux-gnu/libatomic.so.1 /system/usr/lib/ \
  && cp -L node_modules/.bin/node /system/usr/local/bin/ \
  && ln -s /app/bin/petstore.js /system/usr/local/bin/petstore \
  && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM gcr.io/distroless/cc-debian13:nonroot
LABEL org.opencontainers.image.title="Petstore Inventory" \
  org.opencontainers.image.description="Stock inventory for a pet store, over REST, Connect and gRPC" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /system/ /
COPY --from=build /build/node_modules /app/node_modules
COPY --from=build /build/package.json /app/
COPY --from=build /build/bin /app/bin
COPY --from=build /build/dist /app/dist
COPY --from=build --chown=65532:65532 /data /data
ENV PETSTORE_DB=/data/petstore.db PETSTORE_HOST=0.0.0.0 PETSTORE_OPS_HOST=0.0.0.0
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["petstore", "status"]
ENTRYPOINT ["petstore"]
CMD ["serve"]
